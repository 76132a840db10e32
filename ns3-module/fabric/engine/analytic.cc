// The analytic engine computes alpha-beta times on the fabric's routes, with headers, ACKs and
// store-and-forward switches.
//
// A flow of W wire bytes, F in its first frame, leaves when the source's NIC has sent all earlier
// flows. Its first frame takes F / rate + delay on each link, and the rest follows at the rate of
// the slowest link, of which HPCC fills a part. Over links whose rates change, bits leave as the
// cumulated rate lets them. The
// destination's last link serves flows in the order in which their first frames reach it. The
// receiver ACKs all data of a flow when its last byte has arrived; the ACKs occupy the receiver's
// NIC before anything that it sends from then on. Inside the fabric flows do not contend for links,
// but those of one connection keep their order.
#include "dead-link.h"
#include "event-engine.h"
#include "fabric/base/error.h"
#include "flow-path.h"

#include <algorithm>
#include <unordered_map>

namespace legacy::fabric
{

namespace
{

enum What
{
    kHead,      ///< a flow's first frame is ready for the last link; payload: the flow's slot
    kDelivered, ///< a flow has arrived; payload: the flow's slot
    kAcksSent,  ///< a NIC has sent its ACKs; only the clock advances
};

/// A Connection has its routes, and the times of its newest flow.
struct Connection
{
    std::vector<DirectedLink> route; ///< empty between endpoints on one node
    std::vector<DirectedLink> acks;  ///< route of its ACKs
    TimeNs lastHead = 0;             ///< time of its first frame at the last link
    TimeNs lastArrival = 0;          ///< time of its last byte at the destination
};

/// A flow in flight.
struct InFlight
{
    Flow flow;
    Connection* connection = nullptr; ///< nullptr where no byte travels
    TimeNs lastByte = 0;              ///< earliest end of its transmission on the last link
    int graph = 0;                    ///< kNoGraph: it was withdrawn, or the slot is free
};

constexpr int kNoGraph = -1;

/// Returns the number of switches between a route's links.
int SwitchesOf(const std::vector<DirectedLink>& route)
{
    return static_cast<int>(route.size()) - 1;
}

class AnalyticEngine : public EventEngine
{
  public:
    explicit AnalyticEngine(const EngineRequest& request)
        : EventEngine(request),
          m_connections(m_transport.queuePairs),
          m_egressFree(2 * m_topology.Links().size(), 0),
          m_ingressFree(2 * m_topology.Links().size(), 0),
          m_links(2 * m_topology.Links().size())
    {
    }

    std::string Name() const override
    {
        return "analytic";
    }

    std::vector<LinkCounters> Links() const override
    {
        std::vector<LinkCounters> links = m_links;
        for (size_t i = 0; i < links.size(); ++i)
        {
            const Port& port = m_topology.PortOf(static_cast<DirectedLink>(i));
            links[i].busy = BusyTime(port, links[i].bytes);
            links[i].peak = links[i].bytes > 0 ? 1 : 0;
        }
        return links;
    }

  protected:
    void Send(const Flow& flow, int graph) override;
    int64_t Abort(const Flow& flow, int graph) override;

    void Handle(int what, int graph, uint64_t payload) override
    {
        switch (what)
        {
        case kHead:
            ServeLastLink(graph, payload);
            break;
        case kDelivered:
            Arrive(graph, payload);
            break;
        default:
            break;
        }
    }

  private:
    Connection& ConnectionOf(const Flow& flow, int graph);
    bool Timed(const std::vector<DirectedLink>& route) const;
    int64_t Streamed(DirectedLink link, int64_t bytes) const;
    TimeNs DelayOf(DirectedLink link) const
    {
        return LinkDelay(m_topology, m_transport, link);
    }

    TimeNs Sent(const Flow& flow, DirectedLink link, TimeNs start, int64_t bytes) const;
    TimeNs PassFirstLinks(InFlight& inFlight);
    TimeNs PassTimedLinks(InFlight& inFlight, TimeNs head);
    void ServeLastLink(int graph, uint64_t slot);
    void Arrive(int graph, uint64_t slot);
    void SendAcks(const InFlight& inFlight);
    void Count(const std::vector<DirectedLink>& route, int64_t bytes, int64_t packets);

    std::vector<InFlight> m_inFlight; ///< flows by slot
    std::vector<uint64_t> m_freeSlots;
    const bool m_timed = m_topology.HasSchedules(); ///< true where any link's rate changes
    /// Connections by their endpoints and lane, for each channel.
    std::vector<std::unordered_map<uint64_t, Connection>> m_connections;
    /// Time from which each directed link is free, as the first link of routes and as their last.
    std::vector<TimeNs> m_egressFree;
    std::vector<TimeNs> m_ingressFree;
    std::vector<LinkCounters> m_links;
};

Connection& AnalyticEngine::ConnectionOf(const Flow& flow, int graph)
{
    const uint16_t lane = LaneOf(flow, graph);
    auto [entry, added] =
        m_connections[flow.channel].try_emplace(LaneKey(flow.source, flow.destination, lane));
    if (added)
    {
        const ConnectionName name = m_names.Of(flow, lane);
        entry->second.route = m_topology.Route(name.source, name.destination, name.id);
        entry->second.acks = m_topology.Route(name.destination, name.source, name.id);
    }
    return entry->second;
}

void AnalyticEngine::Send(const Flow& flow, int graph)
{
    InFlight inFlight{flow, nullptr, 0, graph};
    TimeNs when = m_now;
    if (flow.bytes > 0)
    {
        Connection& connection = ConnectionOf(flow, graph);
        if (!connection.route.empty())
        {
            inFlight.connection = &connection;
            when = connection.lastHead = std::max(PassFirstLinks(inFlight), connection.lastHead);
        }
    }
    if (m_freeSlots.empty())
    {
        m_freeSlots.push_back(m_inFlight.size());
        m_inFlight.emplace_back();
    }
    const uint64_t slot = m_freeSlots.back();
    m_freeSlots.pop_back();
    m_inFlight[slot] = inFlight;
    Push(when, inFlight.connection ? kHead : kDelivered, graph, slot);
}

int64_t AnalyticEngine::Abort(const Flow& flow, int graph)
{
    // What the flow reserved stays reserved.
    for (InFlight& inFlight : m_inFlight)
    {
        const Flow& other = inFlight.flow;
        if (inFlight.graph == graph && other.tag == flow.tag && other.source == flow.source &&
            other.destination == flow.destination && other.lane == flow.lane)
        {
            inFlight.graph = kNoGraph;
            return flow.bytes;
        }
    }
    return 0;
}

/// Returns true where the rate of a link changes over time.
bool AnalyticEngine::Timed(const std::vector<DirectedLink>& route) const
{
    return std::any_of(route.begin(),
                       route.end(),
                       [this](DirectedLink link)
                       { return m_topology.PortOf(link).schedule != nullptr; });
}

/// Returns the bytes that the link could carry while it carries `bytes` behind a first frame.
int64_t AnalyticEngine::Streamed(DirectedLink link, int64_t bytes) const
{
    return FilledShare(m_topology, m_transport, link) < 1 ? m_transport.StreamedBytes(bytes)
                                                          : bytes;
}

/// Returns when `bytes` of a flow, or its ACKs, that a port begins to send at `start` have left it.
TimeNs AnalyticEngine::Sent(const Flow& flow, DirectedLink link, TimeNs start, int64_t bytes) const
{
    const Port& port = m_topology.PortOf(link);
    if (!port.schedule)
    {
        return Later(start, SerialisationTime(bytes, port.rateBps));
    }
    const TimeNs end =
        port.schedule->Finish(Later(start, m_scheduleStart), 8 * static_cast<double>(bytes));
    if (end == kNever)
    {
        throw DeadLink(m_topology,
                       link,
                       m_placement.NodeOf(flow.source),
                       m_placement.NodeOf(flow.destination),
                       "analytic engine: ",
                       " never carries the " + FormatBytes(bytes) + " that it gets at " +
                           FormatTime(start));
    }
    return end - m_scheduleStart;
}

/// Returns the time at which the first frame is ready for the last link of the route. Sets the
/// earliest end of the transmission there.
TimeNs AnalyticEngine::PassFirstLinks(InFlight& inFlight)
{
    const std::vector<DirectedLink>& route = inFlight.connection->route;
    const int64_t wire = m_transport.WireBytes(inFlight.flow.bytes, SwitchesOf(route));
    const int64_t first = std::min(wire, m_transport.FirstFrameBytes(SwitchesOf(route)));
    TimeNs& free = m_egressFree[route.front()];
    TimeNs head = std::max(m_now, free);
    free = Sent(inFlight.flow, route.front(), head, wire);
    if (m_timed && Timed(route))
    {
        return PassTimedLinks(inFlight, head);
    }
    const auto rate = [&](DirectedLink link) { return m_topology.PortOf(link).rateBps; };
    TimeNs rest = 0;
    for (const DirectedLink link : route)
    {
        rest = std::max(rest, SerialisationTime(Streamed(link, wire - first), rate(link)));
    }
    for (size_t i = 0; i + 1 < route.size(); ++i)
    {
        head = Later(head, Later(SerialisationTime(first, rate(route[i])), DelayOf(route[i])));
    }
    inFlight.lastByte = Later(head, Later(SerialisationTime(first, rate(route.back())), rest));
    return head;
}

/// Does the same where rates change. Each link sends what follows the first frame in its own time,
/// and the one that takes longest decides.
TimeNs AnalyticEngine::PassTimedLinks(InFlight& inFlight, TimeNs head)
{
    const std::vector<DirectedLink>& route = inFlight.connection->route;
    const int64_t wire = m_transport.WireBytes(inFlight.flow.bytes, SwitchesOf(route));
    const int64_t first = std::min(wire, m_transport.FirstFrameBytes(SwitchesOf(route)));
    TimeNs rest = 0;
    TimeNs last = head;
    for (size_t i = 0; i < route.size(); ++i)
    {
        last = head;
        const TimeNs firstSent = Sent(inFlight.flow, route[i], head, first);
        const int64_t all = first + Streamed(route[i], wire - first);
        rest = std::max(rest, Sent(inFlight.flow, route[i], head, all) - firstSent);
        head = Later(firstSent, DelayOf(route[i]));
    }
    inFlight.lastByte = Later(head - DelayOf(route.back()), rest);
    return last;
}

void AnalyticEngine::ServeLastLink(int graph, uint64_t slot)
{
    const InFlight& inFlight = m_inFlight[slot];
    Connection& connection = *inFlight.connection;
    const DirectedLink last = connection.route.back();
    TimeNs& free = m_ingressFree[last];
    const int switches = SwitchesOf(connection.route);
    const int64_t wire = m_transport.WireBytes(inFlight.flow.bytes, switches);
    const int64_t first = std::min(wire, m_transport.FirstFrameBytes(switches));
    free = Sent(inFlight.flow, last, std::max(m_now, free), first + Streamed(last, wire - first));
    connection.lastArrival =
        std::max(Later(std::max(free, inFlight.lastByte), DelayOf(last)), connection.lastArrival);
    Push(connection.lastArrival, kDelivered, graph, slot);
}

void AnalyticEngine::Arrive(int graph, uint64_t slot)
{
    const InFlight inFlight = m_inFlight[slot];
    m_freeSlots.push_back(slot);
    m_inFlight[slot].graph = kNoGraph;
    if (inFlight.connection)
    {
        SendAcks(inFlight);
    }
    if (inFlight.graph != kNoGraph)
    {
        Deliver(inFlight.flow, graph);
    }
}

/// Counts the flow's bytes and packets on the links, and sends its ACKs.
void AnalyticEngine::SendAcks(const InFlight& inFlight)
{
    const Flow& flow = inFlight.flow;
    const Connection& connection = *inFlight.connection;
    const std::vector<DirectedLink>& back = connection.acks;
    const int switches = SwitchesOf(connection.route);
    const int64_t acks = m_transport.AckWireBytes(flow.bytes, switches);
    const int64_t wire = m_transport.WireBytes(flow.bytes, switches);
    Count(connection.route, wire, m_transport.Segments(flow.bytes));
    Count(back, acks, m_transport.Acks(flow.bytes));
    TimeNs& free = m_egressFree[back.front()];
    free = Sent(flow, back.front(), std::max(m_now, free), acks);
    Push(free, kAcksSent, 0, 0);
}

void AnalyticEngine::Count(const std::vector<DirectedLink>& route, int64_t bytes, int64_t packets)
{
    for (DirectedLink link : route)
    {
        m_links[link].bytes += bytes;
        m_links[link].packets += packets;
    }
}

} // namespace

std::unique_ptr<Engine> MakeAnalyticEngine(const EngineRequest& request)
{
    return std::make_unique<AnalyticEngine>(request);
}

} // namespace legacy::fabric
