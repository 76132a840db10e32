// Tasks of federated learning: a model comes down from the server, a client works, and its update
// goes up. A TaskServer decides who does what and when; a TaskGraph (task-graph.h) carries its
// tasks over an engine.
#pragma once

#include "base/units.h"
#include "fabric/population/dropout.h"

#include <cstdint>

namespace legacy::fabric
{

/// A Task is one turn of one client.
struct Task
{
    uint64_t id = 0;  ///< never used twice, below 2^62
    int client = 0;   ///< endpoint of the client
    uint64_t key = 0; ///< of draws about this task: its version, or its number
    int64_t downBytes = 0;
    TimeNs work = 0; ///< decode, train and encode, on this client's device
    int lanes = 1;   ///< connections that share each transfer evenly
};

/// A TaskEnd says how a task ended. The server cancels; all else happens to it.
enum class TaskEnd : uint8_t
{
    Uploaded,
    Cancelled,
    Lost,        ///< by dropout, or because a connection was lost
    Interrupted, ///< the client became unavailable
};

/// TaskTimes are absolute; kNever: it did not come to that.
struct TaskTimes
{
    TimeNs dispatched = 0;
    TimeNs downloaded = kNever;
    TimeNs worked = kNever;
    TimeNs ended = kNever;
    int64_t carriedDown = 0; ///< payload that arrived, or was carried before the transfer was cut
    int64_t carriedUp = 0;
};

/// A TaskSink carries out what a server asks for. It may be called inside the server's callbacks
/// only.
class TaskSink
{
  public:
    virtual ~TaskSink() = default;
    virtual TimeNs Now() const = 0;
    virtual void Dispatch(const Task& task) = 0;
    /// Ends a task that has not ended: the rest of its transfer is not sent, and no callback
    /// follows. Returns its times, with `ended` = Now().
    virtual TaskTimes Cancel(uint64_t id) = 0;
    /// Asks for TaskServer::OnWake(token) at Now() + delay; delay >= 0, token < 2^62.
    virtual void Wake(TimeNs delay, uint64_t token) = 0;
    /// Lets the engine return after this callback; it continues with TaskServer::OnContinue.
    virtual void Pause() = 0;
    /// Ends everything. Tasks that are in flight get no callback any more.
    virtual void Finish() = 0;
};

/// A TaskServer is driven by a TaskGraph through these callbacks.
class TaskServer
{
  public:
    virtual ~TaskServer() = default;
    virtual void OnStart(TaskSink& sink) = 0;
    /// Returns the bytes of a task's update, >= 0. It is asked once, when the work is done.
    virtual int64_t UploadBytes(uint64_t task) = 0;
    virtual void OnEnd(uint64_t task, TaskEnd end, const TaskTimes& times, TaskSink& sink) = 0;
    virtual void OnWake(uint64_t token, TaskSink& sink) = 0;
    virtual void OnContinue(TaskSink& sink) = 0;
};

/// An Interruption is what ends a task from outside.
struct Interruption
{
    TimeNs at = kNever;
    TaskEnd end = TaskEnd::Interrupted; ///< or Lost
};

/// Interruptions say what happens to the tasks of clients. Answers do not depend on the order of
/// asking.
class Interruptions
{
  public:
    virtual ~Interruptions() = default;
    /// Returns the first interruption of a task that is dispatched at `from`.
    virtual Interruption FirstAfter(const Task& task, TimeNs from) const = 0;
    /// Returns where the task is lost of itself.
    virtual Loss LossOf(const Task& task) const = 0;
    /// Returns how long after the loss of a task its server learns of it.
    virtual TimeNs Detection() const = 0;
};

} // namespace legacy::fabric
