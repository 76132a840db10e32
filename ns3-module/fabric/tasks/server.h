// What all servers share: options, the works that tasks get, records, and the choice of clients.
#pragma once

#include "selection.h"
#include "task.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace legacy::fabric
{

/// A TaskStart is a task that a server is about to dispatch.
struct TaskStart
{
    uint64_t id = 0;
    int client = 0;
    int64_t version = 0; ///< the newest, which it starts from
    uint64_t key = 0;    ///< of draws about it, see Task
    int times = 1;       ///< how often the client was drawn
};

/// Upload that is not known before the work is done.
inline constexpr int64_t kUnknownBytes = -1;

/// A TaskWork is what a task moves and computes.
struct TaskWork
{
    int64_t downBytes = 0;
    int64_t upBytes = 0; ///< or kUnknownBytes
    TimeNs work = 0;
    int lanes = 1;
};

/// TaskWorks say what tasks are.
class TaskWorks
{
  public:
    virtual ~TaskWorks() = default;
    virtual TaskWork WorkOf(const TaskStart& start) = 0;
    /// Returns the upload of a task whose WorkOf did not know it. It is asked once, when the work
    /// is done.
    virtual int64_t UpBytesOf(uint64_t)
    {
        return 0;
    }
    /// Returns the time of a task that shares no line with others: for deadlines by factor.
    virtual TimeNs Predicted(int client) = 0;
};

/// A TaskFate is a TaskEnd as the server sees it.
enum class TaskFate : uint8_t
{
    Counted,
    Late,        ///< cut off by the deadline
    Lost,        ///< by dropout or a lost connection
    Interrupted, ///< the client became unavailable
    Cancelled,   ///< enough others had arrived, or the run ended
    Stale,       ///< older than max_staleness
};
inline constexpr int kTaskFates = 6;

/// Returns "counted", "late", ....
const char* NameOf(TaskFate fate);

/// A TaskRow records a task that has ended.
struct TaskRow
{
    uint64_t id = 0;
    int client = 0;
    int64_t baseVersion = 0;
    TaskTimes times;
    TaskFate fate = TaskFate::Counted;
    int64_t staleness = 0; ///< of an update that arrived: versions since its base
    TaskWork work;
};

/// A RoundRow records a version, or a round that made none. Its tasks are those that ended in it.
struct RoundRow
{
    int64_t version = 0; ///< number of the version that it made, from 1; or that it did not make
    bool made = true;
    TimeNs start = 0; ///< when its tasks were dispatched; of an asynchronous server, the last end
    TimeNs end = 0;
    int64_t wanted = 0;
    int64_t started = 0;
    std::array<int64_t, kTaskFates> fates{}; ///< tasks by TaskFate
    int64_t unavailable = 0; ///< idle clients that were not available when clients were chosen
    int64_t carriedDown = 0; ///< payload of its tasks, see TaskTimes
    int64_t carriedUp = 0;
    double stalenessMean = 0; ///< of counted tasks
    int64_t stalenessMax = 0;
    bool extended = false; ///< true where it continued after its deadline
    /// The task whose arrival ended the round, where one did.
    std::optional<TaskRow> critical;
};

/// A TaskListener gets the records, tasks before the round that they ended in.
class TaskListener
{
  public:
    virtual ~TaskListener() = default;
    virtual void OnTask(const TaskRow& row) = 0;
    virtual void OnRound(const RoundRow& row) = 0;
    /// Returns true where the run should stop at the end of a version.
    virtual bool Stop() const
    {
        return false;
    }
};

/// A server gives up where this many tasks for each wanted update have ended since the last
/// version.
inline constexpr int64_t kTasksWithoutVersion = 100;

/// A ServerBase keeps the live tasks, their clients and the records of the present version. It
/// pauses after each round, before anything of the next begins.
class ServerBase : public TaskServer
{
  public:
    int64_t UploadBytes(uint64_t task) override;

    /// Returns why it ended before all versions were made; "" where it did not.
    const std::string& StopReason() const;
    int64_t Version() const;
    uint64_t TasksStarted() const;

  protected:
    struct Live
    {
        TaskRow row;
        int times = 1; ///< how often the client was drawn
    };

    ServerBase(Candidates& candidates,
               Selection& selection,
               TaskWorks& works,
               TaskListener& listener,
               int64_t versions);

    /// Starts a task of a picked client at the newest version. `key` is that of its draws; nothing:
    /// its own number.
    void Start(const Pick& pick, std::optional<uint64_t> key, TaskSink& sink);
    /// Records the end of a task, and frees its client.
    TaskRow Close(uint64_t id, TaskFate fate, const TaskTimes& times, int64_t staleness = 0);
    /// Asks for OnWake(kSettle) when everything of this instant has happened that is known now.
    void Settle(TaskSink& sink);
    /// Returns true at kSettle where nothing has happened since Settle. Else it asks again.
    bool Settled(TaskSink& sink);
    bool Settling() const;

    /// Cancels all tasks in flight.
    void CancelAll(TaskFate fate, TaskSink& sink);
    /// Hands on the row of the version at its end, begins the next one, and pauses.
    void EndRow(bool made, TaskSink& sink);
    /// Ends the run for the reason, "" where all versions were made.
    void Stop(const std::string& reason, TaskSink& sink);
    /// Returns whether too many tasks ended without a version; `each` is the number of updates that
    /// a version takes.
    bool GivesUp(int64_t each) const;
    /// Returns the sentence that says so.
    std::string WhyGivenUp() const;

    static constexpr uint64_t kSettle = 0; ///< token of a wake-up

    Candidates& m_candidates;
    Selection& m_selection;
    TaskWorks& m_works;
    TaskListener& m_listener;
    const int64_t m_versions;
    std::map<uint64_t, Live> m_live; ///< ascending, as tasks are cancelled in that order
    RoundRow m_row;
    bool m_stopped = false;

  private:
    std::string m_reason;
    bool m_settling = false;
    bool m_moved = false; ///< true where something happened since Settle
    int64_t m_version = 0;
    uint64_t m_nextTask = 0;
    int64_t m_endedSinceVersion = 0;
    std::array<int64_t, kTaskFates> m_fatesSinceVersion{};
};

/// SyncOptions describe rounds: `perRound` updates make a version.
struct SyncOptions
{
    int64_t perRound = 10;
    int64_t versions = 100;
    double overSelect = 1;     ///< >= 1: this many times as many tasks are started
    TimeNs deadline = kNever;  ///< from a round's start; kNever: none
    double deadlineFactor = 0; ///< instead: times the median predicted time of its tasks; 0: none
    int64_t least = 1;         ///< updates that must have arrived at the deadline
    bool skip = false; ///< at a deadline with fewer: true ends the round, false waits for them
};

/// Makes a synchronous server. What it is given outlives it. Throws Error on options that
/// contradict each other.
std::unique_ptr<ServerBase> MakeSyncServer(const SyncOptions& options,
                                           Candidates& candidates,
                                           Selection& selection,
                                           TaskWorks& works,
                                           TaskListener& listener);

/// AsyncOptions describe a server that counts updates as they come: `buffer` make a version.
struct AsyncOptions
{
    int64_t concurrency = 100; ///< tasks in flight
    int64_t versions = 100;
    int64_t tasks = 0; ///< ends the run as soon as this many have ended; 0: no limit
    int64_t buffer = 10;
    int64_t maxStaleness = 0; ///< older updates are discarded; 0: no limit
};

/// Makes an asynchronous server. What it is given outlives it. Throws Error on options out of
/// range.
std::unique_ptr<ServerBase> MakeAsyncServer(const AsyncOptions& options,
                                            Candidates& candidates,
                                            Selection& selection,
                                            TaskWorks& works,
                                            TaskListener& listener);

/// ClientRisks are interruptions by availability and dropout.
class ClientRisks : public Interruptions
{
  public:
    /// `availability` outlives this.
    ClientRisks(const ClientAvailability& availability, const Dropout& dropout, TimeNs detection);

    Interruption FirstAfter(const Task& task, TimeNs from) const override;
    Loss LossOf(const Task& task) const override;
    TimeNs Detection() const override;

  private:
    const ClientAvailability& m_availability;
    Dropout m_dropout;
    TimeNs m_detection;
};

} // namespace legacy::fabric
