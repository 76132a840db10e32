#include "task-graph.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace legacy::fabric
{

namespace
{

/// The last two bits of a wake-up's token say what it is for; the other bits have the task, or the
/// server's token.
enum WakeKind : uint64_t
{
    kWorked = 0,
    kInterrupted = 1,
    kDetected = 2,
    kOfServer = 3,
};

uint64_t TokenOf(uint64_t id, WakeKind kind)
{
    return id << 2 | kind;
}

/// Returns the bytes that lane `lane` of `lanes` carries.
int64_t LaneBytes(int64_t bytes, int lanes, int lane)
{
    return bytes / lanes + (lane < bytes % lanes ? 1 : 0);
}

/// Returns a share in (0, 1) of a whole, rounded up.
int64_t PartOf(int64_t whole, double part)
{
    return static_cast<int64_t>(std::ceil(static_cast<double>(whole) * part));
}

} // namespace

/// The TaskSink that a server gets while it handles an event.
class TaskGraph::Sink : public TaskSink
{
  public:
    Sink(TaskGraph& graph, FlowSink& sink) : m_graph(graph), m_sink(sink)
    {
    }

    TimeNs Now() const override
    {
        return m_sink.Now();
    }

    void Dispatch(const Task& task) override
    {
        m_graph.Dispatch(task, m_sink);
    }

    TaskTimes Cancel(uint64_t id) override
    {
        return m_graph.Cancel(id, m_sink);
    }

    void Wake(TimeNs delay, uint64_t token) override
    {
        m_sink.Wake(delay, TokenOf(token, kOfServer));
    }

    void Pause() override
    {
        m_sink.Pause();
    }

    void Finish() override
    {
        m_graph.m_finished = true;
    }

  private:
    TaskGraph& m_graph;
    FlowSink& m_sink;
};

Opening DownloadOpening(ConnectionKind connections)
{
    const bool kept =
        connections == ConnectionKind::Warm || connections == ConnectionKind::Persistent;
    return kept ? Opening::Kept : Opening::New;
}

Opening UploadOpening(ConnectionKind connections)
{
    return DownloadOpening(connections) == Opening::Kept ? Opening::Kept : Opening::Established;
}

TaskGraph::TaskGraph(TaskServer& server,
                     const Interruptions* interruptions,
                     int serverEndpoint,
                     ConnectionKind connections)
    : m_server(server),
      m_interruptions(interruptions),
      m_serverEndpoint(serverEndpoint),
      m_down(DownloadOpening(connections)),
      m_up(UploadOpening(connections))
{
}

void TaskGraph::OnStart(FlowSink& sink)
{
    Sink tasks(*this, sink);
    m_server.OnStart(tasks);
}

bool TaskGraph::Done() const
{
    return m_finished;
}

size_t TaskGraph::Live() const
{
    return m_live.size();
}

size_t TaskGraph::MostLive() const
{
    return m_mostLive;
}

Flow TaskGraph::FlowOf(const LiveTask& live, int lane) const
{
    const bool up = live.stage == TaskStage::Upload;
    Flow flow;
    flow.source = up ? live.task.client : m_serverEndpoint;
    flow.destination = up ? m_serverEndpoint : live.task.client;
    flow.bytes = LaneBytes(live.bytes, live.task.lanes, lane);
    flow.tag = live.task.id << 1 | (up ? 1 : 0);
    flow.lane = static_cast<uint16_t>(lane);
    flow.opening = up ? m_up : m_down;
    return flow;
}

void TaskGraph::Transfer(LiveTask& live, int64_t bytes, FlowSink& sink)
{
    const bool lost = live.loss.lost && live.loss.stage == live.stage;
    live.bytes = lost ? PartOf(bytes, live.loss.part) : bytes;
    live.lanesLeft = live.task.lanes;
    for (int lane = 0; lane < live.task.lanes; ++lane)
    {
        sink.Send(FlowOf(live, lane));
    }
}

void TaskGraph::StopTransfer(LiveTask& live, FlowSink& sink)
{
    if (live.lanesLeft > 0)
    {
        for (int lane = 0; lane < live.task.lanes; ++lane)
        {
            Carried(live) += sink.Abort(FlowOf(live, lane));
        }
    }
    live.lanesLeft = 0;
}

/// Returns the counter of bytes of the present transfer.
int64_t& TaskGraph::Carried(LiveTask& live)
{
    return live.stage == TaskStage::Upload ? live.times.carriedUp : live.times.carriedDown;
}

void TaskGraph::Dispatch(const Task& task, FlowSink& sink)
{
    assert(!m_finished && task.lanes > 0 && task.downBytes >= 0 && task.work >= 0);
    LiveTask& live = m_live[task.id];
    assert(live.times.dispatched == 0 && live.lanesLeft == 0);
    m_mostLive = std::max(m_mostLive, m_live.size());
    live.task = task;
    live.times.dispatched = sink.Now();
    if (m_interruptions)
    {
        live.loss = m_interruptions->LossOf(task);
        const Interruption first = m_interruptions->FirstAfter(task, sink.Now());
        if (first.at != kNever)
        {
            live.end = first.end;
            sink.Wake(std::max<TimeNs>(0, first.at - sink.Now()), TokenOf(task.id, kInterrupted));
        }
    }
    Transfer(live, task.downBytes, sink);
}

TaskTimes TaskGraph::Cancel(uint64_t id, FlowSink& sink)
{
    const auto found = m_live.find(id);
    assert(found != m_live.end());
    StopTransfer(found->second, sink);
    TaskTimes times = found->second.times;
    times.ended = found->second.ended ? times.ended : sink.Now();
    m_live.erase(found);
    return times;
}

void TaskGraph::OnDelivered(const Flow& flow, FlowSink& sink)
{
    const auto found = m_live.find(flow.tag >> 1);
    if (m_finished || found == m_live.end())
    {
        return;
    }
    LiveTask& live = found->second;
    const bool up = (flow.tag & 1) != 0;
    Carried(live) += flow.bytes;
    if (--live.lanesLeft > 0)
    {
        return;
    }
    if (live.loss.lost && live.loss.stage == live.stage)
    {
        End(flow.tag >> 1, TaskEnd::Lost, sink);
    }
    else if (up)
    {
        End(flow.tag >> 1, TaskEnd::Uploaded, sink);
    }
    else
    {
        AfterDownload(live, sink);
    }
}

void TaskGraph::AfterDownload(LiveTask& live, FlowSink& sink)
{
    live.times.downloaded = sink.Now();
    live.stage = TaskStage::Work;
    const bool lost = live.loss.lost && live.loss.stage == TaskStage::Work;
    sink.Wake(lost ? PartOf(live.task.work, live.loss.part) : live.task.work,
              TokenOf(live.task.id, kWorked));
}

void TaskGraph::AfterWork(LiveTask& live, FlowSink& sink)
{
    const uint64_t id = live.task.id;
    if (live.loss.lost && live.loss.stage == TaskStage::Work)
    {
        End(id, TaskEnd::Lost, sink);
        return;
    }
    live.times.worked = sink.Now();
    live.stage = TaskStage::Upload;
    Transfer(live, m_server.UploadBytes(id), sink);
}

void TaskGraph::OnWake(uint64_t token, FlowSink& sink)
{
    if (m_finished)
    {
        return;
    }
    const uint64_t id = token >> 2;
    if ((token & 3) == kOfServer)
    {
        Sink tasks(*this, sink);
        m_server.OnWake(id, tasks);
        return;
    }
    const auto found = m_live.find(id);
    if (found == m_live.end())
    {
        return;
    }
    switch (token & 3)
    {
    case kWorked:
        if (!found->second.ended)
        {
            AfterWork(found->second, sink);
        }
        break;
    case kInterrupted:
        End(id, found->second.end, sink);
        break;
    default:
        Report(id, sink);
    }
}

void TaskGraph::OnContinue(FlowSink& sink)
{
    Sink tasks(*this, sink);
    m_server.OnContinue(tasks);
}

void TaskGraph::OnFailed(const Flow& flow, FlowSink& sink)
{
    End(flow.tag >> 1, TaskEnd::Lost, sink);
}

/// Ends a task now. The server is told about a loss after the detection time.
void TaskGraph::End(uint64_t id, TaskEnd end, FlowSink& sink)
{
    const auto found = m_live.find(id);
    if (found == m_live.end() || found->second.ended)
    {
        return;
    }
    LiveTask& live = found->second;
    StopTransfer(live, sink);
    live.ended = true;
    live.end = end;
    live.times.ended = sink.Now();
    const TimeNs detection =
        end == TaskEnd::Uploaded || !m_interruptions ? 0 : m_interruptions->Detection();
    if (detection > 0)
    {
        sink.Wake(detection, TokenOf(id, kDetected));
        return;
    }
    Report(id, sink);
}

void TaskGraph::Report(uint64_t id, FlowSink& sink)
{
    const auto found = m_live.find(id);
    const TaskEnd end = found->second.end;
    const TaskTimes times = found->second.times;
    m_live.erase(found);
    Sink tasks(*this, sink);
    m_server.OnEnd(id, end, times, tasks);
}

} // namespace legacy::fabric
