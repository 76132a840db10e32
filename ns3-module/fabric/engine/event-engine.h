// The engines that are not ns-3 share the clock, the queue of events and the submitted graphs.
#pragma once

#include "agenda.h"
#include "connection.h"
#include "engine.h"
#include "striped-graph.h"

#include <cassert>
#include <deque>
#include <unordered_map>

namespace legacy::fabric
{

/// Returns a key of two endpoints, each below 2^24, and a lane. Neighbouring destinations
/// have neighbouring keys, and so neighbouring places in a table.
constexpr uint64_t LaneKey(int a, int b, uint16_t lane)
{
    const uint64_t high = lane >> 8;
    const uint64_t low = lane & 0xFF;
    return high << 56 | static_cast<uint64_t>(a) << 32 | low << 24 | static_cast<uint64_t>(b);
}

/// An EventEngine runs events in the order of time; a derived engine says what its events are.
class EventEngine : public Engine
{
  public:
    bool Random() const override
    {
        return false;
    }

    bool DependsOnTime() const override
    {
        return m_topology.HasSchedules() || m_background;
    }

    bool StartsWarm() const override
    {
        return true;
    }

    std::string Fingerprint() const override
    {
        return Name() + " " + m_transport.Fingerprint();
    }

    void Submit(FlowGraph& graph, TimeNs start) override;
    void SubmitBackground(FlowGraph& graph, TimeNs start) override;
    void SetScheduleTime(TimeNs time) override;
    bool RunUntil(TimeNs until) override;

    TimeNs Now() const override
    {
        return m_agenda.Now();
    }

    EngineCounters Counters() const override
    {
        return m_counters;
    }

    void SetFlowTrace(FlowTrace trace) override
    {
        m_trace = std::move(trace);
    }

    /// Nothing is in flight between graphs, so the clock is all of the state.
    std::string Save() const override;
    void Restore(const std::string& state) override;

  protected:
    explicit EventEngine(const EngineRequest& request)
        : m_topology(*request.topology),
          m_placement(*request.placement),
          m_transport(request.transport),
          m_names(m_placement),
          m_stripes(m_topology, m_placement, m_transport.streams)
    {
    }

    /// Starts a flow of a graph, whose source and destination have been checked. The flow ends in
    /// Deliver.
    virtual void Send(const Flow& flow, int graph) = 0;
    /// Withdraws a flow of a graph, if it is on its way. Returns the payload that is carried.
    virtual int64_t Abort(const Flow& flow, int graph) = 0;
    /// Handles an event of the derived engine's own, which is due now.
    virtual void Handle(int what, int graph, uint64_t payload) = 0;

    /// Returns false for an event that another one has replaced. The clock does not advance for it.
    virtual bool Due(TimeNs /* time */, int /* what */, uint64_t /* payload */) const
    {
        return true;
    }

    /// Is called when no event is left at the present time, before the clock advances. Returns true
    /// where it made events.
    virtual bool Settle()
    {
        return false;
    }

    /// Is called when all submitted graphs are done.
    virtual void OnAllDone()
    {
    }

    /// Is called when the time of schedules has changed.
    virtual void OnScheduleTime()
    {
    }

    /// Throws DeadLink, with `before` in front, where flows in flight cannot arrive. Is called when
    /// no event is left.
    virtual void RefuseDead(const std::string& before) const
    {
        (void)before;
    }

    /// Returns the time at which schedules are read now.
    TimeNs ScheduleTime() const
    {
        return m_agenda.ScheduleTime();
    }

    /// Calls Handle(what, graph, payload) at `time`.
    void Push(TimeNs time, int what, int graph, uint64_t payload)
    {
        m_agenda.Push(time, what, graph, payload);
    }

    /// Tells the graph that its flow has arrived, now.
    void Deliver(const Flow& flow, int graph);
    /// Tells the graph that the flow's connection was lost, now.
    void Fail(const Flow& flow, int graph);

    /// Returns how long a port is busy with that many bytes. Where it has a schedule, that is the
    /// time so far times these bytes, divided by those that it could have carried.
    TimeNs BusyTime(const Port& port, int64_t bytes) const;

    /// Returns true for a graph of background traffic.
    bool IsBackground(int graph) const
    {
        return m_graphs[graph].background;
    }

    /// Returns the lane of a graph's flow.
    uint16_t LaneOf(const Flow& flow, int graph) const
    {
        return IsBackground(graph) ? kBackgroundLane : flow.lane;
    }

    const Topology& m_topology;
    const Placement& m_placement;
    const Transport m_transport;
    const ConnectionNames m_names;
    Agenda m_agenda;

  private:
    static constexpr int kStart = -1;
    static constexpr int kWake = -2;
    static constexpr int kHandOver = -3;

    struct Submitted
    {
        FlowGraph* graph = nullptr;
        bool done = false;
        bool background = false;
        std::unique_ptr<StripedGraph>
            striped; ///< around the caller's graph; nullptr: it is not cut
    };

    /// The messages of one ordered pair of endpoints and one lane. Its queue pairs take them in
    /// turn, and they are handed over in the order of sending.
    struct InTurn
    {
        struct Message
        {
            Flow flow;
            int graph = 0;
            bool arrived = false;
            bool gone = false; ///< withdrawn or lost
        };

        uint16_t next = 0;            ///< channel of the next message
        std::deque<Message> messages; ///< that were not handed over
    };

    class Sink;

    /// Returns true where RunUntil returns before its time: a graph has paused, or background
    /// traffic alone is left.
    bool Returns() const
    {
        return m_paused >= 0 || (m_unfinished == 0 && m_background);
    }

    void Add(FlowGraph& graph, TimeNs start, bool background);
    /// Tells the trace of a flow of a graph that is not cut into parts.
    void Trace(const Flow& flow, int graph, bool delivered)
    {
        if (m_trace && !m_graphs[graph].striped)
        {
            m_trace(flow, m_agenda.Now(), delivered);
        }
    }
    void Dispatch(const EngineEvent& event);
    /// Returns true where several queue pairs take messages in turn.
    bool SharesOut() const
    {
        return m_transport.queuePairs > 1;
    }

    uint64_t KeyOf(const Flow& flow, int graph) const;
    InTurn::Message* FindInTurn(const Flow& flow, int graph);
    Flow TakeTurn(const Flow& flow, int graph);
    int64_t AbortInTurn(const Flow& flow, int graph);
    void HandOver(uint64_t key);
    void TellDelivered(const Flow& flow, int graph);
    template <typename Call>
    void Tell(int graph, Call call);

    const Stripes m_stripes;
    std::vector<Submitted> m_graphs;
    std::unordered_map<uint64_t, InTurn> m_inTurn; ///< by pair and lane; empty with one queue pair
    int m_unfinished = 0;                          ///< graphs that are not done, without background
    bool m_background = false;                     ///< true where there is background traffic
    int m_paused = -1; ///< graph that paused the last RunUntil; -1: none
    EngineCounters m_counters;
    FlowTrace m_trace;
};

} // namespace legacy::fabric
