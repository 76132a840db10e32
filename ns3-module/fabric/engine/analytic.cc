// The analytic engine computes alpha-beta times on the fabric's routes, with headers, ACKs and
// store-and-forward switches.
//
// A flow has W wire bytes, F of them in its first frame. It is sent when the source's NIC has sent
// all earlier flows. Its first frame takes F / rate + delay on each link, and the rest follows at
// the rate of the slowest link, of which HPCC fills only a part. On links whose rates change, bits
// leave as the cumulated rate allows.
//
// Each link serves the flows that cross it one after the other, in the order in which their first
// frames reach it. A first frame waits for at most one frame of each flow that is served before it,
// because NICs and switches send frames of all flows in turn. So all links of a path serve a long
// flow at the same time, and it has arrived when the last of them has sent it. Between switches, no
// flow waits for longer than if the link were shared with the flows that it finds there. Links on
// which the packets of a flow spread over several paths have no contention.
//
// The receiver ACKs all data of a flow when the flow's last byte has arrived; the ACKs occupy the
// receiver's NIC before anything that it sends from then on. Flows of one connection keep their
// order.
#include "base/error.h"
#include "dead-link.h"
#include "event-engine.h"
#include "flow-path.h"

#include <algorithm>
#include <unordered_map>

namespace legacy::fabric
{

namespace
{

enum What
{
    kHead,      ///< a flow's first frame is ready for a link; payload: the flow's slot
    kDelivered, ///< a flow has arrived; payload: the flow's slot
    kAcksSent,  ///< a NIC has sent its ACKs; only the clock advances
};

/// A Hop is a link of a connection's route.
struct Hop
{
    DirectedLink link = 0;
    bool served = true;    ///< all of the connection's packets cross it
    bool atHost = false;   ///< it leads from or to a host
    bool changes = false;  ///< its rate does
    TimeNs delay = 0;      ///< to the next hop
    TimeNs newest = 0;     ///< when its newest first frame reaches the link
    int64_t bytes = 0;     ///< that the link could carry in the time that a flow takes
    TimeNs firstTaken = 0; ///< time of a flow's first frame, and of the whole flow, at a link
    TimeNs allTaken = 0;   ///< whose rate does not change
};

/// A Load is what crosses a link.
struct Load
{
    void Add(const Load& more)
    {
        bytes += more.bytes;
        packets += more.packets;
    }

    int64_t bytes = 0;
    int64_t packets = 0;
};

/// A RoutedConnection has the routes of a connection, what its flows of `bytes` take, and the times
/// of its newest flow. Most flows of a connection have equal sizes.
struct RoutedConnection
{
    std::vector<Hop> route;         ///< empty between endpoints on one node
    std::vector<DirectedLink> acks; ///< route of its ACKs
    int64_t bytes = -1;             ///< payload
    int64_t first = 0;              ///< bytes of the first frame
    Load wire;                      ///< of a flow
    Load answer;                    ///< of its ACKs
    bool answerChanges = false;     ///< the rate of their first link does
    TimeNs answerTaken = 0;         ///< their time there if it does not
    Load sent;                      ///< by all flows that have arrived
    Load answered;
    TimeNs lastArrival = 0; ///< time of its newest flow's last byte at the destination
};

/// A flow in flight. It and Line fill a line of the cache each, as events are of random ones.
struct alignas(64) InFlight
{
    Flow flow;
    RoutedConnection* connection = nullptr; ///< nullptr if no byte travels
    TimeNs arrival = 0; ///< earliest arrival, given the links that it has reached
    size_t hop = 0;     ///< link of the route that its first frame reaches next
    int graph = 0;      ///< kNoGraph: it was withdrawn, or the slot is free
};

constexpr int kNoGraph = -1;

/// A Line has the work that a directed link has to serve.
struct alignas(64) Line
{
    TimeNs free = 0;          ///< time from which it is free
    std::vector<TimeNs> ends; ///< ends of what it serves; those before `next` are over
    size_t next = 0;

    /// Returns the number of things that it serves after `now`.
    int64_t Waiting(TimeNs now)
    {
        if (free <= now)
        {
            ends.clear();
            next = 0;
            return 0;
        }
        while (next < ends.size() && ends[next] <= now)
        {
            ++next;
        }
        if (2 * next >= ends.size())
        {
            ends.erase(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(next));
            next = 0;
        }
        return static_cast<int64_t>(ends.size() - next);
    }

    void Take(TimeNs end)
    {
        free = end;
        ends.push_back(end);
    }
};

class AnalyticEngine : public EventEngine
{
  public:
    explicit AnalyticEngine(const EngineRequest& request)
        : EventEngine(request),
          m_connections(m_transport.queuePairs),
          m_lines(2 * m_topology.Links().size())
    {
    }

    std::string Name() const override
    {
        return "analytic";
    }

    std::vector<LinkCounters> Links() const override
    {
        std::vector<Load> loads(m_lines.size());
        for (const auto& connections : m_connections)
        {
            for (const auto& [key, connection] : connections)
            {
                for (const Hop& hop : connection.route)
                {
                    loads[hop.link].Add(connection.sent);
                }
                for (DirectedLink link : connection.acks)
                {
                    loads[link].Add(connection.answered);
                }
            }
        }
        std::vector<LinkCounters> links(loads.size());
        for (size_t i = 0; i < links.size(); ++i)
        {
            const Port& port = m_topology.PortOf(static_cast<DirectedLink>(i));
            links[i].bytes = loads[i].bytes;
            links[i].packets = loads[i].packets;
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
            Reach(payload);
            break;
        case kDelivered:
            Arrive(graph, payload);
            break;
        default:
            break;
        }
    }

  private:
    RoutedConnection& ConnectionOf(const Flow& flow, int graph);
    int64_t Streamed(DirectedLink link, int64_t bytes) const;
    bool IsHostLink(DirectedLink link) const
    {
        return m_topology.IsHost(m_topology.From(link)) || m_topology.IsHost(m_topology.To(link));
    }

    void Size(RoutedConnection& connection, int64_t bytes) const;
    TimeNs SentLater(const Flow& flow, DirectedLink link, TimeNs start, int64_t bytes) const;

    /// Returns the time at which the first frame of a flow has left a port that begins to send it
    /// at `start`.
    TimeNs FirstSent(const InFlight& inFlight, const Hop& hop, TimeNs start) const
    {
        return hop.changes ? SentLater(inFlight.flow, hop.link, start, inFlight.connection->first)
                           : Later(start, hop.firstTaken);
    }

    /// Returns the same of the whole flow.
    TimeNs AllSent(const InFlight& inFlight, const Hop& hop, TimeNs start) const
    {
        return hop.changes ? SentLater(inFlight.flow, hop.link, start, hop.bytes)
                           : Later(start, hop.allTaken);
    }

    TimeNs Pass(const InFlight& inFlight, TimeNs start) const;
    TimeNs Serve(InFlight& inFlight);
    void Reach(uint64_t slot);
    void Arrive(int graph, uint64_t slot);
    void SendAcks(const InFlight& inFlight);

    std::vector<InFlight> m_inFlight; ///< flows by slot
    std::vector<uint64_t> m_freeSlots;
    /// Connections by their endpoints and lane, for each channel.
    std::vector<std::unordered_map<uint64_t, RoutedConnection>> m_connections;
    std::vector<Line> m_lines; ///< by directed link
};

RoutedConnection& AnalyticEngine::ConnectionOf(const Flow& flow, int graph)
{
    const uint16_t lane = LaneOf(flow, graph);
    auto [entry, added] =
        m_connections[flow.channel].try_emplace(LaneKey(flow.source, flow.destination, lane));
    RoutedConnection& connection = entry->second;
    if (added)
    {
        const ConnectionName name = m_names.Of(flow, lane);
        connection.acks = m_topology.Route(name.destination, name.source, name.id);
        for (const DirectedLink link : m_topology.Route(name.source, name.destination, name.id))
        {
            Hop& hop = connection.route.emplace_back();
            hop.link = link;
            hop.atHost = IsHostLink(link);
            hop.served = hop.atHost || m_topology.GetMultipath() == Multipath::Ecmp;
            hop.changes = m_topology.PortOf(link).schedule != nullptr;
            hop.delay = LinkDelay(m_topology, m_transport, link);
        }
    }
    return connection;
}

/// Finds what flows of so many bytes take on the connection.
void AnalyticEngine::Size(RoutedConnection& connection, int64_t bytes) const
{
    const int switches = static_cast<int>(connection.route.size()) - 1;
    connection.bytes = bytes;
    connection.wire = {m_transport.WireBytes(bytes, switches), m_transport.Segments(bytes)};
    connection.answer = {m_transport.AckWireBytes(bytes, switches), m_transport.Acks(bytes)};
    connection.first = std::min(connection.wire.bytes, m_transport.FirstFrameBytes(switches));
    for (Hop& hop : connection.route)
    {
        const Port& port = m_topology.PortOf(hop.link);
        hop.bytes = connection.first + Streamed(hop.link, connection.wire.bytes - connection.first);
        if (!hop.changes)
        {
            hop.firstTaken = SerialisationTime(connection.first, port.rateBps);
            hop.allTaken = SerialisationTime(hop.bytes, port.rateBps);
        }
    }
    const Port& back = m_topology.PortOf(connection.acks.front());
    connection.answerChanges = back.schedule != nullptr;
    if (!connection.answerChanges)
    {
        connection.answerTaken = SerialisationTime(connection.answer.bytes, back.rateBps);
    }
}

void AnalyticEngine::Send(const Flow& flow, int graph)
{
    InFlight inFlight{flow, nullptr, m_agenda.Now(), 0, graph};
    if (flow.bytes > 0)
    {
        RoutedConnection& connection = ConnectionOf(flow, graph);
        if (!connection.route.empty())
        {
            inFlight.connection = &connection;
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
    if (inFlight.connection)
    {
        Reach(slot);
    }
    else
    {
        Push(m_agenda.Now(), kDelivered, graph, slot);
    }
}

int64_t AnalyticEngine::Abort(const Flow& flow, int graph)
{
    // What the flow has reserved stays reserved.
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

/// Returns the bytes that the link could carry in the time in which it carries `bytes` after a
/// first frame.
int64_t AnalyticEngine::Streamed(DirectedLink link, int64_t bytes) const
{
    return FilledShare(m_topology, m_transport, link) < 1 ? m_transport.StreamedBytes(bytes)
                                                          : bytes;
}

/// Returns the time at which `bytes` of a flow or its ACKs have left a port whose rate changes, if
/// it begins to send them at `start`.
TimeNs
AnalyticEngine::SentLater(const Flow& flow, DirectedLink link, TimeNs start, int64_t bytes) const
{
    const Port& port = m_topology.PortOf(link);
    const TimeNs end = port.schedule->Finish(Later(start, m_agenda.ScheduleStart()),
                                             8 * static_cast<double>(bytes));
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
    return end - m_agenda.ScheduleStart();
}

/// Returns the time at which a flow arrives if its next link begins to send it at `start` and it
/// waits nowhere.
TimeNs AnalyticEngine::Pass(const InFlight& inFlight, TimeNs start) const
{
    const std::vector<Hop>& route = inFlight.connection->route;
    TimeNs head = start;
    TimeNs rest = 0; // of the link that takes longest for the bytes after the first frame
    for (size_t i = inFlight.hop; i < route.size(); ++i)
    {
        const TimeNs firstSent = FirstSent(inFlight, route[i], head);
        rest = std::max(rest, AllSent(inFlight, route[i], head) - firstSent);
        head = Later(firstSent, route[i].delay);
    }
    return Later(head, rest);
}

/// Lets the next link of the route send a flow whose first frame is there. Returns the time at
/// which it begins.
TimeNs AnalyticEngine::Serve(InFlight& inFlight)
{
    const Hop& hop = inFlight.connection->route[inFlight.hop];
    Line& line = m_lines[hop.link];
    const int64_t others = line.Waiting(m_agenda.Now());
    TimeNs start = std::max(m_agenda.Now(), line.free);
    const TimeNs end = AllSent(inFlight, hop, start);
    line.Take(end);
    const TimeNs frame = FirstSent(inFlight, hop, start) - start;
    const TimeNs head = std::min(start, Later(m_agenda.Now(), others * frame));
    if (!hop.atHost)
    {
        start = std::min(start, Later(m_agenda.Now(), others * (end - start)));
    }
    if (inFlight.hop == 0 || start > m_agenda.Now())
    {
        inFlight.arrival = std::max(inFlight.arrival, Pass(inFlight, start));
    }
    return head;
}

/// Serves a flow on the links that its first frame reaches now, and waits for the next link.
void AnalyticEngine::Reach(uint64_t slot)
{
    InFlight& inFlight = m_inFlight[slot];
    RoutedConnection& connection = *inFlight.connection;
    if (connection.bytes != inFlight.flow.bytes)
    {
        Size(connection, inFlight.flow.bytes);
    }
    std::vector<Hop>& route = connection.route;
    TimeNs head = Serve(inFlight);
    do
    {
        const Hop& hop = route[inFlight.hop];
        head = Later(FirstSent(inFlight, hop, head), hop.delay);
        ++inFlight.hop;
    } while (inFlight.hop < route.size() && !route[inFlight.hop].served);
    if (inFlight.hop < route.size())
    {
        TimeNs& newest = route[inFlight.hop].newest;
        newest = std::max(newest, head);
        Push(newest, kHead, inFlight.graph, slot);
        return;
    }
    connection.lastArrival = std::max(inFlight.arrival, connection.lastArrival);
    Push(connection.lastArrival, kDelivered, inFlight.graph, slot);
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
    RoutedConnection& connection = *inFlight.connection;
    if (connection.bytes != flow.bytes)
    {
        Size(connection, flow.bytes);
    }
    connection.sent.Add(connection.wire);
    connection.answered.Add(connection.answer);
    const DirectedLink back = connection.acks.front();
    Line& line = m_lines[back];
    line.Waiting(m_agenda.Now());
    const TimeNs start = std::max(m_agenda.Now(), line.free);
    line.Take(connection.answerChanges ? SentLater(flow, back, start, connection.answer.bytes)
                                       : Later(start, connection.answerTaken));
    Push(line.free, kAcksSent, 0, 0);
}

} // namespace

std::unique_ptr<Engine> MakeAnalyticEngine(const EngineRequest& request)
{
    return std::make_unique<AnalyticEngine>(request);
}

} // namespace legacy::fabric
