// The analytic engine: alpha-beta on the fabric's routes, with headers, ACKs and store-and-forward
// switches.
//
// A flow of W wire bytes, F in its first frame, leaves when the source's card has sent what was
// handed to it before; its first frame takes F / rate + delay on each link, and the rest streams
// behind at the slowest one. The destination's last link serves flows in the order in which their
// first frames get there. Received data is ACKed in one piece when its last byte is in; the ACKs
// occupy the receiver's card before anything it sends from then on. Inside the fabric flows do not
// meet.
#include "engine.h"
#include "error.h"

#include <algorithm>
#include <cassert>
#include <queue>
#include <sstream>
#include <unordered_map>

namespace legacy::fabric
{

namespace
{

enum class What : uint8_t
{
    Start, ///< of a graph
    Wake,
    Head, ///< a flow's first frame is ready for the last link
    Delivered,
    AcksSent, ///< nothing to tell, but the card was busy until now
};

struct Event
{
    TimeNs time = 0;
    uint64_t sequence = 0; ///< orders events of one instant as they were made
    What what = What::Start;
    int graph = 0;
    uint64_t token = 0; ///< Wake: the graph's; Head, Delivered: the flow's slot

    bool operator>(const Event& other) const
    {
        return time != other.time ? time > other.time : sequence > other.sequence;
    }
};

/// A flow on its way.
struct InFlight
{
    Flow flow;
    const std::vector<DirectedLink>* route = nullptr; ///< none where no byte travels
    TimeNs lastByte = 0;                              ///< earliest end on the last link
};

class AnalyticEngine : public Engine
{
  public:
    explicit AnalyticEngine(const EngineRequest& request)
        : m_topology(*request.topology),
          m_placement(*request.placement),
          m_transport(request.transport),
          m_egressFree(2 * m_topology.Links().size(), 0),
          m_ingressFree(2 * m_topology.Links().size(), 0),
          m_links(2 * m_topology.Links().size())
    {
    }

    std::string Name() const override
    {
        return "analytic";
    }

    bool Random() const override
    {
        return false;
    }

    bool DependsOnTime() const override
    {
        return false;
    }

    std::string Fingerprint() const override
    {
        return Name() + " " + m_transport.Fingerprint();
    }

    void Submit(FlowGraph& graph, TimeNs start) override
    {
        assert(start >= m_now);
        m_graphs.push_back(Submitted{&graph, false});
        Push(start, What::Start, static_cast<int>(m_graphs.size()) - 1, 0);
        ++m_unfinished;
    }

    bool RunUntil(TimeNs until) override;

    TimeNs Now() const override
    {
        return m_now;
    }

    EngineCounters Counters() const override
    {
        return m_counters;
    }

    std::vector<LinkCounters> Links() const override
    {
        std::vector<LinkCounters> links = m_links;
        for (size_t i = 0; i < links.size(); ++i)
        {
            const Link& link = m_topology.LinkOf(static_cast<DirectedLink>(i));
            links[i].busy = SerialisationTime(links[i].bytes, link.rateBps);
        }
        return links;
    }

    void SetFlowTrace(FlowTrace trace) override
    {
        m_trace = std::move(trace);
    }

    /// Nothing is in flight, so every card is idle: the clock is all the state there is.
    std::string Save() const override
    {
        return "analytic " + std::to_string(m_now);
    }

    void Restore(const std::string& state) override
    {
        std::istringstream stream(state);
        std::string name;
        TimeNs now = 0;
        if (!(stream >> name >> now) || name != Name() || now < 0)
        {
            throw Error("engine state", state, "what an analytic engine saved");
        }
        m_now = now;
    }

  private:
    struct Submitted
    {
        FlowGraph* graph = nullptr;
        bool done = false;
    };

    /// What the graph that is being told of an event may do.
    class Sink : public FlowSink
    {
      public:
        Sink(AnalyticEngine& engine, int graph) : m_engine(engine), m_graph(graph)
        {
        }

        TimeNs Now() const override
        {
            return m_engine.m_now;
        }

        void Send(const Flow& flow) override
        {
            m_engine.Send(flow, m_graph);
        }

        void Wake(TimeNs delay, uint64_t token) override
        {
            assert(delay >= 0);
            m_engine.Push(m_engine.m_now + delay, What::Wake, m_graph, token);
        }

      private:
        AnalyticEngine& m_engine;
        int m_graph;
    };

    void Push(TimeNs time, What what, int graph, uint64_t token)
    {
        m_events.push(Event{time, m_sequence++, what, graph, token});
    }

    const std::vector<DirectedLink>& RouteOf(int source, int destination);
    void Send(const Flow& flow, int graph);
    TimeNs PassFirstLinks(InFlight& inFlight);
    void ServeLastLink(const Event& event);
    void Deliver(const Event& event);
    void SendAcks(const InFlight& inFlight);
    template <typename Call>
    void Tell(int graph, Call call);
    void Count(const std::vector<DirectedLink>& route, int64_t bytes, int64_t packets);

    const Topology& m_topology;
    const Placement& m_placement;
    const Transport m_transport;
    TimeNs m_now = 0;
    uint64_t m_sequence = 0;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> m_events;
    std::vector<InFlight> m_inFlight; ///< by slot
    std::vector<uint64_t> m_freeSlots;
    std::vector<Submitted> m_graphs;
    int m_unfinished = 0;
    std::unordered_map<uint64_t, std::vector<DirectedLink>> m_routes; ///< by endpoints
    std::vector<TimeNs> m_egressFree;  ///< first links of routes, by directed link
    std::vector<TimeNs> m_ingressFree; ///< last links of routes
    std::vector<LinkCounters> m_links;
    EngineCounters m_counters;
    FlowTrace m_trace;
};

bool AnalyticEngine::RunUntil(TimeNs until)
{
    while (!m_events.empty() && m_events.top().time <= until)
    {
        const Event event = m_events.top();
        m_events.pop();
        m_now = event.time;
        ++m_counters.events;
        switch (event.what)
        {
        case What::Start:
            Tell(event.graph, [](FlowGraph& graph, FlowSink& sink) { graph.OnStart(sink); });
            break;
        case What::Wake:
            Tell(event.graph,
                 [&](FlowGraph& graph, FlowSink& sink) { graph.OnWake(event.token, sink); });
            break;
        case What::Head:
            ServeLastLink(event);
            break;
        case What::Delivered:
            Deliver(event);
            break;
        case What::AcksSent:
            break;
        }
    }
    if (!m_events.empty())
    {
        m_now = std::max(m_now, until);
        return m_unfinished == 0;
    }
    if (m_unfinished > 0)
    {
        throw Error("analytic engine: nothing can happen any more, no flow is in flight, and " +
                    std::to_string(m_unfinished) + " submitted graph(s) are not done");
    }
    return true;
}

const std::vector<DirectedLink>& AnalyticEngine::RouteOf(int source, int destination)
{
    const uint64_t ends = static_cast<uint64_t>(source) << 32 | static_cast<uint32_t>(destination);
    auto [entry, added] = m_routes.try_emplace(ends);
    if (added)
    {
        constexpr uint32_t kChannel = 0; // one connection for each pair of endpoints
        entry->second =
            m_topology.Route(m_placement.NodeOf(source), m_placement.NodeOf(destination), kChannel);
    }
    return entry->second;
}

void AnalyticEngine::Send(const Flow& flow, int graph)
{
    assert(flow.source != flow.destination && flow.bytes >= 0);
    if (m_trace)
    {
        m_trace(flow, m_now, false);
    }
    InFlight inFlight{flow, nullptr, 0};
    TimeNs when = m_now;
    if (flow.bytes > 0)
    {
        inFlight.route = &RouteOf(flow.source, flow.destination);
        when = PassFirstLinks(inFlight);
    }
    if (m_freeSlots.empty())
    {
        m_freeSlots.push_back(m_inFlight.size());
        m_inFlight.emplace_back();
    }
    const uint64_t slot = m_freeSlots.back();
    m_freeSlots.pop_back();
    m_inFlight[slot] = inFlight;
    Push(when, flow.bytes > 0 ? What::Head : What::Delivered, graph, slot);
}

/// When the first frame is ready for the last link of the route; sets the earliest end there.
TimeNs AnalyticEngine::PassFirstLinks(InFlight& inFlight)
{
    const std::vector<DirectedLink>& route = *inFlight.route;
    const int64_t wire = m_transport.WireBytes(inFlight.flow.bytes);
    const int64_t first = std::min(wire, m_transport.FrameBytes());
    TimeNs& free = m_egressFree[route.front()];
    TimeNs head = std::max(m_now, free);
    free = head + SerialisationTime(wire, m_topology.LinkOf(route.front()).rateBps);
    int64_t slowest = m_topology.LinkOf(route.back()).rateBps;
    for (size_t i = 0; i + 1 < route.size(); ++i)
    {
        const Link& link = m_topology.LinkOf(route[i]);
        head += SerialisationTime(first, link.rateBps) + link.delay;
        slowest = std::min(slowest, link.rateBps);
    }
    inFlight.lastByte = head + SerialisationTime(first, m_topology.LinkOf(route.back()).rateBps) +
                        SerialisationTime(wire - first, slowest);
    return head;
}

void AnalyticEngine::ServeLastLink(const Event& event)
{
    const InFlight& inFlight = m_inFlight[event.token];
    const DirectedLink last = inFlight.route->back();
    const Link& link = m_topology.LinkOf(last);
    TimeNs& free = m_ingressFree[last];
    const int64_t wire = m_transport.WireBytes(inFlight.flow.bytes);
    free = std::max(m_now, free) + SerialisationTime(wire, link.rateBps);
    Push(std::max(free, inFlight.lastByte) + link.delay, What::Delivered, event.graph, event.token);
}

void AnalyticEngine::Deliver(const Event& event)
{
    const InFlight inFlight = m_inFlight[event.token];
    m_freeSlots.push_back(event.token);
    ++m_counters.flows;
    if (m_trace)
    {
        m_trace(inFlight.flow, m_now, true);
    }
    if (inFlight.route)
    {
        SendAcks(inFlight);
    }
    Tell(event.graph,
         [&](FlowGraph& graph, FlowSink& sink) { graph.OnDelivered(inFlight.flow, sink); });
}

/// Counts what the flow put on the links, and sends its ACKs.
void AnalyticEngine::SendAcks(const InFlight& inFlight)
{
    const Flow& flow = inFlight.flow;
    const std::vector<DirectedLink>& back = RouteOf(flow.destination, flow.source);
    const int64_t acks = m_transport.AckWireBytes(flow.bytes);
    Count(*inFlight.route, m_transport.WireBytes(flow.bytes), m_transport.Segments(flow.bytes));
    Count(back, acks, m_transport.Acks(flow.bytes));
    TimeNs& free = m_egressFree[back.front()];
    free = std::max(m_now, free) + SerialisationTime(acks, m_topology.LinkOf(back.front()).rateBps);
    Push(free, What::AcksSent, 0, 0);
}

void AnalyticEngine::Count(const std::vector<DirectedLink>& route, int64_t bytes, int64_t packets)
{
    for (DirectedLink link : route)
    {
        m_links[link].bytes += bytes;
        m_links[link].packets += packets;
    }
}

template <typename Call>
void AnalyticEngine::Tell(int graph, Call call)
{
    assert(!m_graphs[graph].done); // a graph that is done waits for nothing
    FlowGraph& told = *m_graphs[graph].graph;
    Sink sink(*this, graph);
    call(told, sink);
    if (told.Done())
    {
        m_graphs[graph].done = true;
        --m_unfinished;
    }
}

} // namespace

std::unique_ptr<Engine> MakeAnalyticEngine(const EngineRequest& request)
{
    return std::make_unique<AnalyticEngine>(request);
}

} // namespace legacy::fabric
