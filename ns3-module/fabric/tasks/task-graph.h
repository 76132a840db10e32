// A task graph carries the tasks of a server over an engine: a download over the task's lanes, a
// wake-up after the work, and an upload. It holds live tasks only.
//
// Downloads open the connections of a task where the transport opens any (`tls`, `quic`, ...), and
// uploads travel on them. A task that is lost at a part of a transfer sends that part. A connection
// that fails loses its task.
#pragma once

#include "fabric/engine/flow-graph.h"
#include "fabric/engine/transport.h"
#include "task.h"

#include <cstdint>
#include <unordered_map>

namespace legacy::fabric
{

/// Return on which connections tasks download and upload.
Opening DownloadOpening(ConnectionKind connections);
Opening UploadOpening(ConnectionKind connections);

/// A TaskGraph is done when its server has called Finish.
class TaskGraph : public FlowGraph
{
  public:
    /// `server` and `interruptions` outlive the graph; nullptr: no task is interrupted.
    /// `serverEndpoint` is where models come from.
    TaskGraph(TaskServer& server,
              const Interruptions* interruptions,
              int serverEndpoint,
              ConnectionKind connections);

    void OnStart(FlowSink& sink) override;
    void OnDelivered(const Flow& flow, FlowSink& sink) override;
    void OnWake(uint64_t token, FlowSink& sink) override;
    void OnContinue(FlowSink& sink) override;
    void OnFailed(const Flow& flow, FlowSink& sink) override;
    bool Done() const override;

    /// Return the number of tasks in flight now, and the highest so far.
    size_t Live() const;
    size_t MostLive() const;

  private:
    class Sink;

    struct LiveTask
    {
        Task task;
        TaskTimes times;
        TaskStage stage = TaskStage::Download;
        Loss loss;
        int lanesLeft = 0;  ///< lanes of the transfer that have not arrived
        int64_t bytes = 0;  ///< of the transfer
        bool ended = false; ///< true where the server has not learnt yet that it ended
        TaskEnd end = TaskEnd::Uploaded;
    };

    Flow FlowOf(const LiveTask& live, int lane) const;
    void Dispatch(const Task& task, FlowSink& sink);
    TaskTimes Cancel(uint64_t id, FlowSink& sink);
    void Transfer(LiveTask& live, int64_t bytes, FlowSink& sink);
    void StopTransfer(LiveTask& live, FlowSink& sink);
    static int64_t& Carried(LiveTask& live);
    void AfterDownload(LiveTask& live, FlowSink& sink);
    void AfterWork(LiveTask& live, FlowSink& sink);
    void End(uint64_t id, TaskEnd end, FlowSink& sink);
    void Report(uint64_t id, FlowSink& sink);

    TaskServer& m_server;
    const Interruptions* m_interruptions;
    int m_serverEndpoint;
    Opening m_down;
    Opening m_up;
    std::unordered_map<uint64_t, LiveTask> m_live;
    size_t m_mostLive = 0;
    bool m_finished = false;
};

} // namespace legacy::fabric
