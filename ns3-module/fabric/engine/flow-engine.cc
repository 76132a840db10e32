// The flow engine shares links by fluid max-min fairness on the fabric's routes, with headers,
// ACKs, latency and slow start.
//
// Each pair of nodes has one connection, which sends its flows one after the other, as TCP does
// with messages. A flow of W wire bytes (headers included) runs at the connection's max-min fair
// rate and arrives one latency after its last byte has left: the delay of every link, and a full
// frame's serialisation on every link but the slowest (switches store and forward). On an idle path
// that is T(W) of closed-form.h.
//
// ACKs go the other way on routes of their own. Their part of a link is computed as if all
// connections that are busy on it ran at one rate. A link of capacity C that carries the data of D
// busy connections and the ACKs of A has a capacity of C / (1 + a A / D) for data, where a is the
// bytes of ACKs for each byte of data. A connection is busy from its first flow on until one
// arrives that has no `more` behind it.
//
// A connection that is not warm pays the handshake's round trip before its first flow, and for each
// round of slow start (RFC 5681 with the byte counting of RFC 3465: from the initial window,
// doubling with every ACKed window) the part of a round trip that its window does not fill. Loss
// limits a connection to MSS / RTT sqrt(3 / (2 p)) (Mathis et al., CCR 1997), a fixed socket buffer
// to one buffer a round trip. Queues, retransmission time-outs and unfairness between connections
// are not modelled.
#include "event-engine.h"
#include "flow-path.h"
#include "max-min.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

namespace legacy::fabric
{

namespace
{

enum FlowEvent
{
    kReady,   ///< a connection may start its next flow; payload: the connection
    kSent,    ///< the last byte of a flow may leave; payload: its connection
    kArrived, ///< a flow has arrived; payload: its slot
};

constexpr int kNone = -1;

/// A flow that was sent and has not arrived.
struct Slot
{
    Flow flow;
    int graph = 0;
    int next = kNone; ///< slot of the next flow on the connection
};

/// A Connection carries all flows of one ordered pair of nodes.
struct Connection
{
    int first = kNone; ///< first slot that waits to be sent
    int last = kNone;
    int sending = kNone;  ///< slot that is being sent
    bool waiting = false; ///< true until its kReady
    bool busy = false;    ///< true while it has joined its links
    double rate = 0;      ///< wire bytes a nanosecond
    double left = 0;      ///< wire bytes of the flow, as of `since`
    TimeNs since = 0;
    TimeNs end = 0;            ///< end of the flow at this rate
    TimeNs scheduled = kNever; ///< time of the earliest kSent that is scheduled
    TimeNs lastArrival = 0;

    bool connected = false; ///< true once the handshake is done
    bool open = false;      ///< true once slow start is over
    double window = 0;      ///< window of slow start, bytes on the wire

    // Totals of all flows that were sent.
    int64_t wireBytes = 0;
    int64_t packets = 0;
    int64_t ackBytes = 0;
    int64_t ackPackets = 0;

    FlowPath path;
};

/// A Wire has what a flow of `bytes` puts on the wire.
struct Wire
{
    int64_t bytes = -1; ///< payload
    int64_t wire = 0;
    int64_t packets = 0;
    int64_t ackBytes = 0;
    int64_t ackPackets = 0;
};

std::vector<double> Capacities(const Topology& topology)
{
    std::vector<double> capacities;
    for (size_t i = 0; i < 2 * topology.Links().size(); ++i)
    {
        capacities.push_back(BytesPerNs(topology.PortOf(static_cast<DirectedLink>(i))));
    }
    return capacities;
}

class FlowEngine : public EventEngine
{
  public:
    explicit FlowEngine(const EngineRequest& request)
        : EventEngine(request),
          m_frameBytes(m_transport.FrameBytes()),
          m_ackRatio(static_cast<double>(m_transport.ackBytes) /
                     (m_transport.segmentsPerAck * static_cast<double>(m_transport.FrameBytes()))),
          m_rates(Capacities(m_topology)),
          m_dataOn(2 * m_topology.Links().size(), 0),
          m_acksOn(2 * m_topology.Links().size(), 0),
          m_recent(m_placement.Endpoints(), Recent{})
    {
    }

    std::string Name() const override
    {
        return "flow";
    }

    std::vector<LinkCounters> Links() const override;

  protected:
    void Send(const Flow& flow, int graph) override;
    void Handle(int what, int graph, uint64_t payload) override;
    bool Due(TimeNs time, int what, uint64_t payload) const override;
    bool Settle() override;
    void OnAllDone() override;

  private:
    /// The connection that an endpoint used last.
    struct Recent
    {
        int destination = kNone;
        int connection = kNone;
    };

    int ConnectionOf(int source, int destination);
    int Connect(int from, int to);
    void SetBusy(int connection, bool busy);
    void Lend(DirectedLink link);
    const Wire& WireOf(int64_t bytes);
    int TakeSlot(const Flow& flow, int graph);
    void SendNext(int connection);
    TimeNs RampTime(Connection& connection, int64_t wire);
    void Begin(int connection);
    void Reschedule(int connection);
    void Finish(int connection);

    const int64_t m_frameBytes;
    const double m_ackRatio; ///< bytes of ACKs for each byte of data on the wire
    MaxMin m_rates;          ///< rates of m_connections, under the same numbers
    std::vector<Connection> m_connections;
    /// Sum of the shares of busy connections whose data, or ACKs, cross each directed link.
    std::vector<double> m_dataOn;
    std::vector<double> m_acksOn;
    std::vector<Recent> m_recent;                    ///< last connection of each source endpoint
    std::unordered_map<uint64_t, int> m_byNodes;     ///< connections
    std::unordered_map<uint64_t, int> m_byEndpoints; ///< connections
    std::vector<Slot> m_slots;
    int m_freeSlot = kNone;
    std::array<Wire, 64> m_wires; ///< cache by the last bits of the size
};

uint64_t Pair(int a, int b)
{
    return static_cast<uint64_t>(a) << 32 | static_cast<uint32_t>(b);
}

int FlowEngine::ConnectionOf(int source, int destination)
{
    Recent& recent = m_recent.at(source);
    if (recent.destination == destination)
    {
        return recent.connection;
    }
    auto [entry, added] = m_byEndpoints.try_emplace(Pair(source, destination), kNone);
    if (added)
    {
        const int from = m_placement.NodeOf(source);
        const int to = m_placement.NodeOf(destination);
        auto [byNodes, unknown] = m_byNodes.try_emplace(Pair(from, to), kNone);
        if (unknown)
        {
            byNodes->second = Connect(from, to);
        }
        entry->second = byNodes->second;
    }
    recent = Recent{destination, entry->second};
    return entry->second;
}

int FlowEngine::Connect(int from, int to)
{
    Connection connection;
    connection.path = MakeFlowPath(m_topology, m_transport, from, to);
    connection.connected = connection.open = m_transport.warm;
    connection.window = m_transport.initialWindow * static_cast<double>(m_frameBytes);
    std::vector<MaxMin::Use> uses;
    for (const LinkShare& hop : connection.path.data)
    {
        uses.push_back(MaxMin::Use{hop.link, hop.share});
    }
    const double limit = connection.path.limit;
    m_connections.push_back(std::move(connection));
    return m_rates.Add(uses, limit);
}

void FlowEngine::SetBusy(int number, bool busy)
{
    Connection& connection = m_connections[number];
    if (connection.busy == busy)
    {
        return;
    }
    connection.busy = busy;
    if (busy)
    {
        m_rates.Join(number);
    }
    else
    {
        m_rates.Leave(number);
    }
    const double sign = busy ? 1 : -1;
    for (const LinkShare& hop : connection.path.data)
    {
        m_dataOn[hop.link] += sign * hop.share;
        Lend(hop.link);
    }
    for (const LinkShare& hop : connection.path.acks)
    {
        m_acksOn[hop.link] += sign * hop.share;
        Lend(hop.link);
    }
}

/// Sets the capacity of the link for data, which is what ACKs leave of it.
void FlowEngine::Lend(DirectedLink link)
{
    constexpr double kNothing = 1e-9; // what rounding may leave of a sum of shares
    if (m_dataOn[link] > kNothing)
    {
        const double acks = std::max(0.0, m_acksOn[link]) / m_dataOn[link];
        m_rates.SetCapacity(link, BytesPerNs(m_topology.PortOf(link)) / (1 + m_ackRatio * acks));
    }
}

const Wire& FlowEngine::WireOf(int64_t bytes)
{
    Wire& known = m_wires[static_cast<size_t>(bytes) % m_wires.size()];
    if (known.bytes != bytes)
    {
        known = Wire{bytes,
                     m_transport.WireBytes(bytes),
                     m_transport.Segments(bytes),
                     m_transport.AckWireBytes(bytes),
                     m_transport.Acks(bytes)};
    }
    return known;
}

int FlowEngine::TakeSlot(const Flow& flow, int graph)
{
    if (m_freeSlot == kNone)
    {
        m_freeSlot = static_cast<int>(m_slots.size());
        m_slots.emplace_back();
    }
    const int slot = m_freeSlot;
    m_freeSlot = m_slots[slot].next;
    m_slots[slot] = Slot{flow, graph, kNone};
    return slot;
}

void FlowEngine::Send(const Flow& flow, int graph)
{
    const int number = ConnectionOf(flow.source, flow.destination);
    const int slot = TakeSlot(flow, graph);
    Connection& connection = m_connections[number];
    if (connection.last == kNone)
    {
        connection.first = slot;
    }
    else
    {
        m_slots[connection.last].next = slot;
    }
    connection.last = slot;
    if (connection.sending == kNone && !connection.waiting)
    {
        SendNext(number);
    }
}

/// Takes flows off the connection's queue up to the first that has bytes to send over links.
void FlowEngine::SendNext(int number)
{
    Connection& connection = m_connections[number];
    while (connection.first != kNone)
    {
        const int slot = connection.first;
        const Flow& flow = m_slots[slot].flow;
        if (flow.bytes > 0 && !connection.path.local)
        {
            SetBusy(number, true);
            const TimeNs ramp = connection.open ? 0 : RampTime(connection, WireOf(flow.bytes).wire);
            connection.waiting = ramp > 0;
            if (ramp > 0)
            {
                Push(Later(m_now, ramp), kReady, 0, static_cast<uint64_t>(number));
                return;
            }
            Begin(number);
            return;
        }
        connection.first = m_slots[slot].next;
        connection.last = connection.first == kNone ? kNone : connection.last;
        connection.lastArrival = std::max(connection.lastArrival, m_now);
        Push(connection.lastArrival, kArrived, m_slots[slot].graph, static_cast<uint64_t>(slot));
    }
}

/// Returns the time that a flow of `wire` bytes loses to the handshake and to slow start.
TimeNs FlowEngine::RampTime(Connection& connection, int64_t wire)
{
    const FlowPath& path = connection.path;
    double lost = connection.connected ? 0 : path.roundTrip;
    connection.connected = true;
    const double pipe = path.slowest * path.roundTrip;
    auto left = static_cast<double>(wire);
    while (left > connection.window && connection.window < pipe)
    {
        lost += path.roundTrip - connection.window / path.slowest;
        left -= connection.window;
        connection.window *= 2;
    }
    connection.open = connection.window >= pipe;
    return RoundedTime(lost);
}

void FlowEngine::Begin(int number)
{
    Connection& connection = m_connections[number];
    const int slot = connection.first;
    connection.waiting = false;
    connection.sending = slot;
    connection.first = m_slots[slot].next;
    connection.last = connection.first == kNone ? kNone : connection.last;
    connection.left = static_cast<double>(WireOf(m_slots[slot].flow.bytes).wire);
    connection.since = m_now;
    connection.rate = 0;
    connection.scheduled = kNever;
    m_rates.Start(number);
    if (m_rates.Rate(number) > 0)
    {
        Reschedule(number);
    }
}

/// Takes the connection's present rate and schedules the end of its flow.
void FlowEngine::Reschedule(int number)
{
    Connection& connection = m_connections[number];
    connection.left -= connection.rate * static_cast<double>(m_now - connection.since);
    connection.since = m_now;
    connection.rate = m_rates.Rate(number);
    connection.end = Later(m_now, RoundedTime(std::max(0.0, connection.left) / connection.rate));
    // An event that comes too early is scheduled again; only one that would come too late is
    // replaced.
    if (connection.end < connection.scheduled)
    {
        connection.scheduled = connection.end;
        Push(connection.end, kSent, 0, static_cast<uint64_t>(number));
    }
}

bool FlowEngine::Settle()
{
    if (!m_rates.Pending())
    {
        return false;
    }
    for (int number : m_rates.Solve())
    {
        Reschedule(number);
    }
    return true;
}

void FlowEngine::Handle(int what, int, uint64_t payload)
{
    if (what == kArrived)
    {
        const auto slot = static_cast<int>(payload);
        const Slot arrived = m_slots[slot];
        m_slots[slot].next = m_freeSlot;
        m_freeSlot = slot;
        Deliver(arrived.flow, arrived.graph);
        return;
    }
    const auto number = static_cast<int>(payload);
    Connection& connection = m_connections[number];
    if (what == kReady)
    {
        Begin(number);
        return;
    }
    if (connection.end > m_now)
    {
        connection.scheduled = connection.end;
        Push(connection.end, kSent, 0, payload);
        return;
    }
    Finish(number);
}

/// Only the earliest kSent of a connection's present flow counts.
bool FlowEngine::Due(TimeNs time, int what, uint64_t payload) const
{
    return what != kSent || m_connections[payload].scheduled == time;
}

/// Ends a flow whose last byte has left, and sends the next one.
void FlowEngine::Finish(int number)
{
    Connection& connection = m_connections[number];
    const int slot = connection.sending;
    const Flow& flow = m_slots[slot].flow;
    const Wire& wire = WireOf(flow.bytes);
    connection.wireBytes += wire.wire;
    connection.packets += wire.packets;
    connection.ackBytes += wire.ackBytes;
    connection.ackPackets += wire.ackPackets;
    const auto firstFrame = static_cast<double>(std::min(wire.wire, m_frameBytes));
    const TimeNs latency =
        RoundedTime(connection.path.delay + firstFrame * connection.path.byteTime);
    connection.lastArrival = std::max(connection.lastArrival, Later(m_now, latency));
    Push(connection.lastArrival, kArrived, m_slots[slot].graph, static_cast<uint64_t>(slot));
    connection.sending = kNone;
    connection.scheduled = kNever;
    m_rates.Stop(number);
    if (connection.first == kNone && !flow.more)
    {
        SetBusy(number, false);
    }
    SendNext(number);
}

/// Takes idle connections off their links. A graph may have ended without a flow that is its
/// connection's last.
void FlowEngine::OnAllDone()
{
    for (size_t i = 0; i < m_connections.size(); ++i)
    {
        if (m_connections[i].sending == kNone && !m_connections[i].waiting)
        {
            SetBusy(static_cast<int>(i), false);
        }
    }
}

std::vector<LinkCounters> FlowEngine::Links() const
{
    const size_t count = 2 * m_topology.Links().size();
    std::vector<double> bytes(count, 0);
    std::vector<double> packets(count, 0);
    std::vector<double> peak(count, 0);
    for (size_t i = 0; i < m_connections.size(); ++i)
    {
        const Connection& connection = m_connections[i];
        for (const LinkShare& hop : connection.path.data)
        {
            bytes[hop.link] += hop.share * static_cast<double>(connection.wireBytes);
            packets[hop.link] += hop.share * static_cast<double>(connection.packets);
            peak[hop.link] =
                std::max(peak[hop.link], hop.share * m_rates.PeakRate(static_cast<int>(i)));
        }
        for (const LinkShare& hop : connection.path.acks)
        {
            bytes[hop.link] += hop.share * static_cast<double>(connection.ackBytes);
            packets[hop.link] += hop.share * static_cast<double>(connection.ackPackets);
        }
    }
    std::vector<LinkCounters> links(count);
    for (size_t i = 0; i < count; ++i)
    {
        const Port& port = m_topology.PortOf(static_cast<DirectedLink>(i));
        links[i].bytes = std::llround(bytes[i]);
        links[i].packets = std::llround(packets[i]);
        links[i].busy = SerialisationTime(links[i].bytes, port.rateBps);
        links[i].peak = std::max(peak[i], m_rates.PeakLoad(static_cast<int>(i))) / BytesPerNs(port);
    }
    return links;
}

} // namespace

std::unique_ptr<Engine> MakeFlowEngine(const EngineRequest& request)
{
    return std::make_unique<FlowEngine>(request);
}

} // namespace legacy::fabric
