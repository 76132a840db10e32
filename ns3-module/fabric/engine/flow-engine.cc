// The flow engine shares links by fluid max-min fairness on the fabric's routes, with headers,
// ACKs, latency and slow start.
//
// Each lane of a pair of endpoints has one connection, which sends its flows one after the other,
// as TCP does with messages. A flow of W wire bytes (headers included) runs at the connection's
// max-min fair rate and arrives one latency after its last byte has left: the delay of every link,
// and its first frame's serialisation on every link but the slowest (switches store and forward).
// On an idle path that is T(W) of closed-form.h.
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
// limits a long connection to MSS / RTT sqrt(3 / (2 p)) (Mathis et al., CCR 1997; Cubic: RFC 9438).
// On a new one losses are drawn: the first ends slow start, and each leaves a smaller window that
// grows again (sawtooth.h). A fixed socket buffer limits it to one buffer a round trip. Queues,
// retransmission time-outs and unfairness between connections are not modelled.
//
// A port with a token bucket sends what its tokens allow at once (token-buckets.h).
#include "dead-link.h"
#include "event-engine.h"
#include "flow-path.h"
#include "max-min.h"
#include "sawtooth.h"
#include "token-buckets.h"

#include "base/hash.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

namespace legacy::fabric
{

namespace
{

enum FlowEvent
{
    kReady,   ///< a connection may start its next flow; payload: the connection
    kSent,    ///< the last byte of a flow may leave; payload: its connection
    kArrived, ///< a flow has arrived; payload: its slot
    kRate,    ///< the rate of a link changes; payload: the link
    kLost,    ///< a host fails; payload: a connection that ends at it
};

constexpr int kNone = -1;

/// A flow that was sent and has not arrived.
struct Slot
{
    Flow flow;
    int graph = 0;    ///< kNone: it was withdrawn, or the slot is free
    int next = kNone; ///< slot of the next flow on the connection
};

/// A Connection carries all flows of one lane and channel of an ordered pair of endpoints.
struct Connection
{
    int first = kNone; ///< first slot that waits to be sent
    int last = kNone;
    int sending = kNone;  ///< slot that is being sent
    bool waiting = false; ///< true until its kReady
    bool busy = false;    ///< true while it has joined its links
    bool open = false;    ///< true once slow start is over
    double rate = 0;      ///< wire bytes a nanosecond
    double left = 0;      ///< wire bytes of the flow, as of `since`
    double stop = 0;      ///< value of `left` at the next loss; 0: the flow ends before
    TimeNs since = 0;
    TimeNs end = 0;            ///< end of the flow at this rate
    TimeNs scheduled = kNever; ///< time of the earliest kSent that is scheduled
    TimeNs lastArrival = 0;
    TimeNs idleSince = 0;               ///< time at which its last flow had left
    double early = 0;                   ///< bytes of the next flow that slow start has carried
    std::unique_ptr<Sawtooth> sawtooth; ///< of a connection that was opened on a lossy path

    // Totals of all flows that were sent.
    int64_t wireBytes = 0;
    int64_t packets = 0;
    int64_t ackBytes = 0;
    int64_t ackPackets = 0;

    FlowPath path;

    // Flows without slow start, losses and failures do not need the rest.
    bool connected = false; ///< true once the handshake is done
    double window = 0;      ///< window of slow start, bytes on the wire
    double mark = 0;        ///< value of `left` up to which `sawtooth` has counted
    TimeNs ready = 0;       ///< time of its kReady
    TimeNs lost = kNever;   ///< time of its kLost
    ConnectionId id = 0;    ///< of its ConnectionName
    int source = 0;         ///< endpoint
    int destination = 0;    ///< endpoint
    uint16_t lane = 0;
    uint16_t channel = 0;
};

/// A Wire has what a flow of `bytes` puts on the wire of a path with so many switches.
struct Wire
{
    int64_t bytes = -1; ///< payload
    int switches = 0;
    int64_t wire = 0;
    int64_t packets = 0;
    int64_t ackBytes = 0;
    int64_t ackPackets = 0;
};

/// Returns what long flows fill of each directed link, bytes a nanosecond.
std::vector<double> Rates(const Topology& topology, const Transport& transport)
{
    std::vector<double> rates;
    rates.reserve(2 * topology.Links().size());
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(2 * topology.Links().size());
         ++link)
    {
        rates.push_back(FilledShare(topology, transport, link) * BytesPerNs(topology.PortOf(link)));
    }
    return rates;
}

class FlowEngine : public EventEngine
{
  public:
    explicit FlowEngine(const EngineRequest& request)
        : EventEngine(request),
          m_frameBytes(m_transport.FrameBytes()),
          m_ackRatio(m_transport.AckRatio()),
          m_linkRates(Rates(m_topology, m_transport)),
          m_rates(m_linkRates),
          m_dataOn(2 * m_topology.Links().size(), 0),
          m_acksOn(2 * m_topology.Links().size(), 0),
          m_watched(m_topology.HasSchedules() ? 2 * m_topology.Links().size() : 0, false),
          m_buckets(m_topology),
          m_draws(HashWords({request.seed, request.run})),
          m_recent(m_placement.Endpoints(), Recent{})
    {
    }

    std::string Name() const override
    {
        return "flow";
    }

    bool Random() const override;
    std::vector<LinkCounters> Links() const override;
    std::vector<LinkActivity> Activity() const override;

  protected:
    void Send(const Flow& flow, int graph) override;
    int64_t Abort(const Flow& flow, int graph) override;
    void OnScheduleTime() override;
    void RefuseDead(const std::string& before) const override;
    void Handle(int what, int graph, uint64_t payload) override;
    bool Due(TimeNs time, int what, uint64_t payload) const override;
    bool Settle() override;
    void OnAllDone() override;

  private:
    /// The connection of lane 0, channel 0 that an endpoint used last.
    struct Recent
    {
        int destination = kNone;
        int connection = kNone;
    };

    int ConnectionOf(const Flow& flow, int graph)
    {
        const uint16_t lane = LaneOf(flow, graph);
        const Recent& recent = m_recent[flow.source];
        const int first = recent.destination == flow.destination && lane == 0
                              ? recent.connection
                              : FindConnection(flow, lane);
        return first + flow.channel;
    }

    int FindConnection(const Flow& flow, uint16_t lane);
    int Connect(const Flow& flow, uint16_t lane, uint32_t channel);
    void SetBusy(int connection, bool busy);
    void Lend(DirectedLink link);
    const Wire& WireOf(int64_t bytes, const FlowPath& path)
    {
        Wire& known = m_wires[static_cast<size_t>(bytes) % m_wires.size()];
        if (known.bytes != bytes || known.switches != path.switches)
        {
            known = MakeWire(bytes, path.switches);
        }
        return known;
    }

    Wire MakeWire(int64_t bytes, int switches) const;
    int TakeSlot(const Flow& flow, int graph);
    void SendNext(int connection);
    TimeNs RampTime(Connection& connection, int64_t wire);
    double LossyRamp(Connection& connection, double wire, double slowest) const;
    void Close(Connection& connection);
    void SetStop(int connection);
    void LosePacket(int connection);
    void Begin(int connection);
    void Reschedule(int connection);
    void Finish(int connection);
    void StopSending(int connection, const Wire& sent);
    Wire PartOf(const Wire& whole, double share) const;
    void Free(int slot);
    void Lose(int connection);
    double ShareSent(const Connection& connection);
    std::vector<int> SlotsOf(const Connection& connection) const;
    void Depart(int connection, int slot, TimeNs arrival);
    void Reopen(Connection& connection, Opening opening);
    void ShrinkWindow(Connection& connection);
    void AwaitFailure(int connection);
    bool Busy(DirectedLink link) const;
    void Watch(DirectedLink link);
    void TakeRate(DirectedLink link);
    double SlowestNow(const FlowPath& path) const;
    double ByteTimeNow(const FlowPath& path) const;

    const int64_t m_frameBytes;
    const double m_ackRatio; ///< bytes of ACKs for each byte of data, on paths without switches
    /// What long flows fill of each directed link at present, bytes a nanosecond.
    std::vector<double> m_linkRates;
    MaxMin m_rates; ///< rates of m_connections, under the same numbers
    std::vector<Connection> m_connections;
    /// Sum of the shares of busy connections whose data, or ACKs by their weight, cross each
    /// directed link.
    std::vector<double> m_dataOn;
    std::vector<double> m_acksOn;
    std::vector<bool> m_watched; ///< true for links with a kRate to come; empty without schedules
    uint32_t m_watch = 0;        ///< counts changes of the time of schedules
    TokenBuckets m_buckets;
    const uint64_t m_draws;                          ///< key of the losses of new connections
    std::vector<Recent> m_recent;                    ///< last connection of each source endpoint
    std::unordered_map<uint64_t, int> m_byEndpoints; ///< connections of channel 0
    std::vector<Slot> m_slots;
    int m_freeSlot = kNone;
    std::array<Wire, 64> m_wires; ///< cache by the last bits of the size
};

/// Losses are drawn on connections that are opened while the engine runs.
bool FlowEngine::Random() const
{
    const auto lossy = [](const Link& link)
    { return std::max(link.ports[0].errorRate, link.ports[1].errorRate) > 0; };
    return m_transport.connections != ConnectionKind::Warm && Sawtooth::Holds(m_transport) &&
           std::any_of(m_topology.Links().begin(), m_topology.Links().end(), lossy);
}

/// Returns the connection of channel 0. Those of other channels follow it.
int FlowEngine::FindConnection(const Flow& flow, uint16_t lane)
{
    auto [entry, added] =
        m_byEndpoints.try_emplace(LaneKey(flow.source, flow.destination, lane), kNone);
    if (added)
    {
        entry->second = Connect(flow, lane, 0);
        for (int channel = 1; channel < m_transport.queuePairs; ++channel)
        {
            Connect(flow, lane, channel);
        }
    }
    if (lane == 0)
    {
        m_recent[flow.source] = Recent{flow.destination, entry->second};
    }
    return entry->second;
}

int FlowEngine::Connect(const Flow& flow, uint16_t lane, uint32_t channel)
{
    const ConnectionName name = m_names.Of(flow, lane).OfChannel(channel);
    Connection connection;
    connection.path = MakeFlowPath(m_topology, m_transport, name.source, name.destination, name.id);
    connection.source = flow.source;
    connection.destination = flow.destination;
    connection.id = name.id;
    connection.lane = lane;
    connection.channel = static_cast<uint16_t>(channel);
    connection.connected = HandshakeRoundTrips(m_transport.connections) == 0;
    connection.open = m_transport.connections == ConnectionKind::Warm ||
                      m_transport.connections == ConnectionKind::Persistent;
    if (!connection.open)
    {
        Close(connection);
    }
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
    if (busy && connection.path.timed)
    {
        for (const LinkShare& hop : connection.path.data)
        {
            Watch(hop.link);
        }
        for (const LinkShare& hop : connection.path.acks)
        {
            Watch(hop.link);
        }
        AwaitFailure(number);
    }
    for (const LinkShare& hop : connection.path.data)
    {
        m_dataOn[hop.link] += sign * hop.share;
        Lend(hop.link);
    }
    for (const LinkShare& hop : connection.path.acks)
    {
        m_acksOn[hop.link] += sign * hop.share * connection.path.ackWeight;
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
        m_rates.SetCapacity(link, m_linkRates[link] / (1 + m_ackRatio * acks));
    }
}

Wire FlowEngine::MakeWire(int64_t bytes, int switches) const
{
    return Wire{bytes,
                switches,
                m_transport.WireBytes(bytes, switches),
                m_transport.Segments(bytes),
                m_transport.AckWireBytes(bytes, switches),
                m_transport.Acks(bytes)};
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
    const int number = ConnectionOf(flow, graph);
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
            if (flow.opening == Opening::New || flow.opening == Opening::Established)
            {
                Reopen(connection, flow.opening);
            }
            else if (m_transport.connections == ConnectionKind::Persistent)
            {
                ShrinkWindow(connection);
            }
            SetBusy(number, true);
            const TimeNs ramp =
                connection.open ? 0
                                : RampTime(connection, WireOf(flow.bytes, connection.path).wire);
            connection.waiting = ramp > 0;
            if (ramp > 0)
            {
                connection.ready = Later(m_now, ramp);
                Push(connection.ready, kReady, 0, static_cast<uint64_t>(number));
                return;
            }
            Begin(number);
            return;
        }
        connection.first = m_slots[slot].next;
        connection.last = connection.first == kNone ? kNone : connection.last;
        Depart(number, slot, m_now);
    }
}

/// Lets a flow that has left arrive at `arrival`, and not before those that left before it.
void FlowEngine::Depart(int number, int slot, TimeNs arrival)
{
    Connection& connection = m_connections[number];
    connection.lastArrival = std::max(connection.lastArrival, arrival);
    Push(connection.lastArrival, kArrived, m_slots[slot].graph, static_cast<uint64_t>(slot));
}

/// Puts a new connection in the place of this one.
void FlowEngine::Reopen(Connection& connection, Opening opening)
{
    connection.connected =
        opening == Opening::Established || HandshakeRoundTrips(m_transport.connections) == 0;
    Close(connection);
}

/// Puts the connection before slow start.
void FlowEngine::Close(Connection& connection)
{
    connection.open = false;
    connection.window = m_transport.initialWindow * static_cast<double>(m_frameBytes);
    if (connection.path.loss > 0 && Sawtooth::Holds(m_transport))
    {
        const uint64_t key =
            HashWords({m_draws,
                       static_cast<uint64_t>(m_placement.NodeOf(connection.source)),
                       static_cast<uint64_t>(m_placement.NodeOf(connection.destination)),
                       LaneAndRanks(connection.id),
                       static_cast<uint64_t>(m_now)});
        connection.sawtooth = std::make_unique<Sawtooth>(connection.path, m_transport, key);
    }
}

/// Halves the window for each RTO that the connection was idle, down to the initial window (RFC
/// 2861, as Linux does).
void FlowEngine::ShrinkWindow(Connection& connection)
{
    const double rto = static_cast<double>(m_transport.minRto) + connection.path.roundTrip;
    const double least = m_transport.initialWindow * static_cast<double>(m_frameBytes);
    const auto idle = static_cast<double>(m_now - connection.idleSince);
    const double pipe = connection.path.slowest * connection.path.roundTrip;
    double window = connection.open ? std::max(pipe, least) : connection.window;
    for (double left = idle - rto; left >= 0 && window > least; left -= rto)
    {
        window = std::max(least, window / 2);
    }
    connection.window = window;
    connection.open = window >= pipe;
}

/// Returns true where data or ACKs of a busy connection cross the link.
bool FlowEngine::Busy(DirectedLink link) const
{
    constexpr double kNothing = 1e-9; // what rounding may leave of a sum of shares
    return m_dataOn[link] > kNothing || m_acksOn[link] > kNothing;
}

/// Follows the rate of a link from now on, until it is idle.
void FlowEngine::Watch(DirectedLink link)
{
    if (m_topology.PortOf(link).schedule && !m_watched[link])
    {
        TakeRate(link);
    }
}

/// Takes the present rate of a link with a schedule, and waits for its next change.
void FlowEngine::TakeRate(DirectedLink link)
{
    const LinkSchedule& schedule = *m_topology.PortOf(link).schedule;
    const TimeNs now = ScheduleTime();
    m_linkRates[link] = FilledShare(m_topology, m_transport, link) *
                        static_cast<double>(schedule.RateAt(now)) / 8e9;
    Lend(link);
    const TimeNs next = schedule.NextChange(now);
    m_watched[link] = next != kNever;
    if (next != kNever)
    {
        const auto payload = static_cast<uint64_t>(m_watch) << 32 | static_cast<uint64_t>(link);
        Push(Later(m_now, next - now), kRate, 0, payload);
    }
}

/// Waits for the next failure of an end of the connection.
void FlowEngine::AwaitFailure(int number)
{
    Connection& connection = m_connections[number];
    const TimeNs now = ScheduleTime();
    const TimeNs next =
        std::min(m_topology.NextFailure(m_placement.NodeOf(connection.source), now),
                 m_topology.NextFailure(m_placement.NodeOf(connection.destination), now));
    connection.lost = next == kNever ? kNever : Later(m_now, next - now);
    if (connection.lost != kNever)
    {
        Push(connection.lost, kLost, 0, static_cast<uint64_t>(number));
    }
}

void FlowEngine::OnScheduleTime()
{
    // Links are idle, and take their rates when they are used. Changes that were due are not.
    std::fill(m_watched.begin(), m_watched.end(), false);
    ++m_watch;
}

/// Returns the present rate of the slowest link, or its highest where nothing passes now.
double FlowEngine::SlowestNow(const FlowPath& path) const
{
    double slowest = path.slowest;
    for (const LinkShare& hop : path.data)
    {
        slowest = std::min(slowest, m_linkRates[hop.link] / hop.share);
    }
    return slowest > 0 ? slowest : path.slowest;
}

/// Returns the nanoseconds a byte of the first frame, beyond the slowest link's, at present rates.
double FlowEngine::ByteTimeNow(const FlowPath& path) const
{
    double time = 0;
    for (const LinkShare& hop : path.data)
    {
        const double rate = m_linkRates[hop.link];
        time += hop.share / (rate > 0 ? rate : BytesPerNs(m_topology.PortOf(hop.link)));
    }
    return std::max(0.0, time - 1 / SlowestNow(path));
}

/// Returns the time of slow start on a path that loses packets, and puts what it carries into
/// `early`. It ends with the first loss, or when the window fills the path, after which the
/// sawtooth says how fast the connection is. Of a flow that ends before, the last window runs at
/// the path's rate. A connection that was open before comes back to its mean window.
double FlowEngine::LossyRamp(Connection& connection, double wire, double slowest) const
{
    const FlowPath& path = connection.path;
    Sawtooth* sawtooth = connection.sawtooth.get();
    const double first = sawtooth ? sawtooth->Left() : std::numeric_limits<double>::max();
    const double limit = sawtooth ? path.lossless : path.limit;
    const double pipe = std::min(slowest, limit) * path.roundTrip;
    // ACKs of all that was sent before the loss widen the window.
    const double widest = connection.window + first;
    double sent = 0;
    double time = 0;
    while (wire - sent > connection.window && sent < first && connection.window < pipe)
    {
        time += path.roundTrip;
        sent += connection.window;
        connection.window *= 2;
    }
    const bool ends = wire - sent <= connection.window && sent < first;
    connection.open = !ends;
    const double last = wire - sent;
    connection.early = ends ? wire - last * std::min(1.0, limit / slowest) : sent;
    if (sawtooth)
    {
        sawtooth->Send(sent);
        if (connection.open)
        {
            sawtooth->Begin(std::min(connection.window, widest), sent >= first);
        }
    }
    return time;
}

/// Returns the time that a flow of `wire` bytes loses to the handshake and to slow start.
TimeNs FlowEngine::RampTime(Connection& connection, int64_t wire)
{
    const FlowPath& path = connection.path;
    const int handshake =
        connection.connected ? 0 : std::max(1, HandshakeRoundTrips(m_transport.connections));
    double lost = handshake * path.roundTrip;
    connection.connected = true;
    const double slowest = path.timed ? SlowestNow(path) : path.slowest;
    const auto bytes = static_cast<double>(wire);
    if (path.loss > 0)
    {
        return RoundedTime(lost + LossyRamp(connection, bytes, slowest));
    }
    lost += SlowStartTime(bytes, slowest, path.roundTrip, connection.window);
    connection.open = connection.window >= slowest * path.roundTrip;
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
    connection.left = static_cast<double>(WireOf(m_slots[slot].flow.bytes, connection.path).wire);
    connection.left -= std::exchange(connection.early, 0);
    if (connection.path.buckets)
    {
        connection.left -= m_buckets.Take(connection.path, connection.left, m_linkRates, m_now);
    }
    connection.since = m_now;
    connection.rate = 0;
    connection.scheduled = kNever;
    if (connection.sawtooth)
    {
        SetStop(number);
    }
    m_rates.Start(number);
    if (m_rates.Rate(number) > 0)
    {
        Reschedule(number);
    }
}

/// Takes the rate of a connection from its sawtooth, and when it loses the next packet.
void FlowEngine::SetStop(int number)
{
    Connection& connection = m_connections[number];
    const Sawtooth& sawtooth = *connection.sawtooth;
    const double most = connection.path.lossless;
    connection.mark = connection.left;
    connection.stop = connection.open ? std::max(0.0, connection.left - sawtooth.Left()) : 0;
    m_rates.SetLimit(number, connection.open ? std::min(most, sawtooth.Rate()) : most);
}

void FlowEngine::LosePacket(int number)
{
    Connection& connection = m_connections[number];
    connection.left = connection.stop;
    connection.since = m_now;
    connection.scheduled = kNever;
    connection.sawtooth->Lose(connection.rate);
    SetStop(number);
    Reschedule(number);
}

/// Takes the connection's present rate and schedules the end of its flow.
void FlowEngine::Reschedule(int number)
{
    Connection& connection = m_connections[number];
    connection.left -= connection.rate * static_cast<double>(m_now - connection.since);
    connection.since = m_now;
    connection.rate = m_rates.Rate(number);
    // What rounding leaves of a link without capacity is no rate: a line of 1 bit/s has 1.25e-10.
    constexpr double kNoRate = 1e-12;
    connection.rate = connection.rate < kNoRate ? 0 : connection.rate;
    connection.end =
        connection.rate > 0
            ? Later(m_now,
                    RoundedTime(std::max(0.0, connection.left - connection.stop) / connection.rate))
            : kNever;
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
        Free(slot);
        if (arrived.graph != kNone)
        {
            Deliver(arrived.flow, arrived.graph);
        }
        return;
    }
    if (what == kRate)
    {
        const auto link = static_cast<DirectedLink>(payload & UINT32_MAX);
        m_watched[link] = false;
        if (Busy(link))
        {
            TakeRate(link);
        }
        return;
    }
    const auto number = static_cast<int>(payload);
    if (what == kLost)
    {
        Lose(number);
        return;
    }
    Connection& connection = m_connections[number];
    if (what == kReady)
    {
        Begin(number);
        return;
    }
    if (connection.end > m_now)
    {
        connection.scheduled = connection.end;
        if (connection.end != kNever)
        {
            Push(connection.end, kSent, 0, payload);
        }
        return;
    }
    if (connection.stop > 0)
    {
        LosePacket(number);
        return;
    }
    Finish(number);
}

/// Only the earliest kSent of a connection's present flow counts.
bool FlowEngine::Due(TimeNs time, int what, uint64_t payload) const
{
    switch (what)
    {
    case kArrived:
        return true;
    case kSent:
        return m_connections[payload].scheduled == time;
    case kReady:
        return m_connections[payload].waiting && m_connections[payload].ready == time;
    case kRate:
        return payload >> 32 == m_watch;
    case kLost:
        return m_connections[payload].busy && m_connections[payload].lost == time;
    default:
        return true;
    }
}

/// Ends the sending of a flow of which `sent` has left.
void FlowEngine::StopSending(int number, const Wire& sent)
{
    Connection& connection = m_connections[number];
    connection.wireBytes += sent.wire;
    connection.packets += sent.packets;
    connection.ackBytes += sent.ackBytes;
    connection.ackPackets += sent.ackPackets;
    connection.idleSince = m_now;
    connection.sending = kNone;
    connection.scheduled = kNever;
    if (connection.sawtooth)
    {
        const double left =
            connection.left - connection.rate * static_cast<double>(m_now - connection.since);
        connection.sawtooth->Send(connection.mark - std::max(0.0, left));
        connection.stop = 0;
    }
    m_rates.Stop(number);
    if (connection.path.buckets)
    {
        m_buckets.Return(connection.path, m_now);
    }
}

/// Ends a flow whose last byte has left, and sends the next one.
void FlowEngine::Finish(int number)
{
    Connection& connection = m_connections[number];
    const int slot = connection.sending;
    const Flow& flow = m_slots[slot].flow;
    const Wire& wire = WireOf(flow.bytes, connection.path);
    const double byteTime =
        connection.path.timed ? ByteTimeNow(connection.path) : connection.path.byteTime;
    const auto firstFrame = static_cast<double>(
        std::min(wire.wire, m_transport.FirstFrameBytes(connection.path.switches)));
    const TimeNs latency = RoundedTime(connection.path.delay + firstFrame * byteTime);
    // With several queue pairs, the next flow is on another one.
    const bool more = flow.more && m_transport.queuePairs == 1;
    Depart(number, slot, Later(m_now, latency));
    StopSending(number, wire);
    if (connection.first == kNone && !more)
    {
        SetBusy(number, false);
    }
    SendNext(number);
}

/// Returns a share of what a flow puts on the wire.
Wire FlowEngine::PartOf(const Wire& whole, double share) const
{
    const auto part = [&](int64_t all) { return std::llround(share * static_cast<double>(all)); };
    return Wire{whole.bytes,
                whole.switches,
                part(whole.wire),
                part(whole.packets),
                part(whole.ackBytes),
                part(whole.ackPackets)};
}

void FlowEngine::Free(int slot)
{
    m_slots[slot].graph = kNone;
    m_slots[slot].next = m_freeSlot;
    m_freeSlot = slot;
}

/// Returns the slots of all flows of a connection, those that have left included. It looks at all
/// flows, as few are ever withdrawn.
std::vector<int> FlowEngine::SlotsOf(const Connection& connection) const
{
    std::vector<int> slots;
    for (size_t slot = 0; slot < m_slots.size(); ++slot)
    {
        const Flow& flow = m_slots[slot].flow;
        if (m_slots[slot].graph != kNone && LaneOf(flow, m_slots[slot].graph) == connection.lane &&
            flow.channel == connection.channel && flow.source == connection.source &&
            flow.destination == connection.destination)
        {
            slots.push_back(static_cast<int>(slot));
        }
    }
    return slots;
}

/// Returns the share of the connection's present flow that has left.
double FlowEngine::ShareSent(const Connection& connection)
{
    const double wire =
        static_cast<double>(WireOf(m_slots[connection.sending].flow.bytes, connection.path).wire);
    const double left =
        connection.left - connection.rate * static_cast<double>(m_now - connection.since);
    return std::clamp(1 - left / wire, 0.0, 1.0);
}

int64_t FlowEngine::Abort(const Flow& flow, int graph)
{
    const int number = ConnectionOf(flow, graph);
    Connection& connection = m_connections[number];
    const auto wanted = [&](int slot)
    {
        const Flow& other = m_slots[slot].flow;
        return m_slots[slot].graph == graph && other.tag == flow.tag &&
               other.source == flow.source && other.destination == flow.destination;
    };
    int64_t sent = 0;
    if (connection.sending != kNone && wanted(connection.sending))
    {
        const int slot = connection.sending;
        const double share = ShareSent(connection);
        sent = std::llround(share * static_cast<double>(m_slots[slot].flow.bytes));
        StopSending(number, PartOf(WireOf(m_slots[slot].flow.bytes, connection.path), share));
        Free(slot);
    }
    else
    {
        int before = kNone;
        int slot = connection.first;
        while (slot != kNone && !wanted(slot))
        {
            before = slot;
            slot = m_slots[slot].next;
        }
        if (slot == kNone)
        {
            // It has left, or is not on its way.
            const std::vector<int> slots = SlotsOf(connection);
            const auto found = std::find_if(slots.begin(), slots.end(), wanted);
            if (found == slots.end())
            {
                return 0;
            }
            m_slots[*found].graph = kNone;
            return m_slots[*found].flow.bytes;
        }
        (before == kNone ? connection.first : m_slots[before].next) = m_slots[slot].next;
        connection.last = connection.last == slot ? before : connection.last;
        Free(slot);
        if (before != kNone || !connection.waiting)
        {
            return 0;
        }
        connection.waiting = false;
    }
    if (connection.first == kNone)
    {
        SetBusy(number, false);
    }
    SendNext(number);
    return sent;
}

/// Loses a connection with all flows on it, and tells their graphs. The next flow opens another.
void FlowEngine::Lose(int number)
{
    Connection& connection = m_connections[number];
    const std::vector<int> lost = SlotsOf(connection);
    std::vector<Slot> told;
    for (int slot : lost)
    {
        told.push_back(m_slots[slot]);
        m_slots[slot].graph = kNone;
    }
    // Flows that have left are in the queue of events, which frees their slots.
    if (connection.sending != kNone)
    {
        const int slot = connection.sending;
        StopSending(
            number,
            PartOf(WireOf(m_slots[slot].flow.bytes, connection.path), ShareSent(connection)));
        Free(slot);
    }
    while (connection.first != kNone)
    {
        const int slot = connection.first;
        connection.first = m_slots[slot].next;
        Free(slot);
    }
    connection.last = kNone;
    connection.waiting = false;
    SetBusy(number, false);
    Reopen(connection, Opening::New);
    connection.connected = false;
    for (const Slot& slot : told)
    {
        Fail(slot.flow, slot.graph);
    }
}

void FlowEngine::RefuseDead(const std::string& before) const
{
    for (const Connection& connection : m_connections)
    {
        if (connection.sending == kNone)
        {
            continue;
        }
        for (const std::vector<LinkShare>* way : {&connection.path.data, &connection.path.acks})
        {
            for (const LinkShare& hop : *way)
            {
                if (m_linkRates[hop.link] == 0)
                {
                    const Flow& flow = m_slots[connection.sending].flow;
                    throw DeadLink(m_topology,
                                   hop.link,
                                   m_placement.NodeOf(connection.source),
                                   m_placement.NodeOf(connection.destination),
                                   before,
                                   " carries nothing any more, for ever, and the flow of " +
                                       FormatBytes(flow.bytes) + " from endpoint " +
                                       std::to_string(flow.source) + " to " +
                                       std::to_string(flow.destination) + " needs it");
                }
            }
        }
    }
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
    std::vector<double> background(count, 0);
    std::vector<double> packets(count, 0);
    std::vector<double> peak(count, 0);
    for (size_t i = 0; i < m_connections.size(); ++i)
    {
        const Connection& connection = m_connections[i];
        for (const LinkShare& hop : connection.path.data)
        {
            const double sent = hop.share * static_cast<double>(connection.wireBytes);
            bytes[hop.link] += sent;
            background[hop.link] += connection.lane == kBackgroundLane ? sent : 0;
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
        links[i].backgroundBytes = std::llround(background[i]);
        links[i].busy = BusyTime(port, links[i].bytes);
        links[i].peak = std::max(peak[i], m_rates.PeakLoad(static_cast<int>(i))) / BytesPerNs(port);
    }
    return links;
}

std::vector<LinkActivity> FlowEngine::Activity() const
{
    constexpr double kBits = 8e9; // bits a second of a byte a nanosecond
    std::vector<LinkActivity> activity(2 * m_topology.Links().size());
    for (const Connection& connection : m_connections)
    {
        auto data = static_cast<double>(connection.wireBytes);
        auto acks = static_cast<double>(connection.ackBytes);
        double rate = 0;
        if (connection.sending != kNone)
        {
            const int64_t bytes = m_slots[connection.sending].flow.bytes;
            const int switches = connection.path.switches;
            const auto wire = static_cast<double>(m_transport.WireBytes(bytes, switches));
            const double left =
                connection.left - connection.rate * static_cast<double>(m_now - connection.since);
            const double sent = std::clamp(wire - left, 0.0, wire);
            data += sent;
            acks += sent / wire * static_cast<double>(m_transport.AckWireBytes(bytes, switches));
            rate = kBits * connection.rate;
        }
        for (const LinkShare& hop : connection.path.data)
        {
            activity[hop.link].bytes += hop.share * data;
            activity[hop.link].bitsPerSecond += hop.share * rate;
        }
        for (const LinkShare& hop : connection.path.acks)
        {
            activity[hop.link].bytes += hop.share * acks;
            activity[hop.link].bitsPerSecond +=
                hop.share * rate * m_ackRatio * connection.path.ackWeight;
        }
    }
    return activity;
}

} // namespace

std::unique_ptr<Engine> MakeFlowEngine(const EngineRequest& request)
{
    return std::make_unique<FlowEngine>(request);
}

} // namespace legacy::fabric
