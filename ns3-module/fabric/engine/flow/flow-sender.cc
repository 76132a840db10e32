#include "flow-sender.h"

#include "flow-event.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr int kNoSlot = FlowSlot::kNone;

} // namespace

FlowSender::FlowSender(const Topology& topology,
                       const Transport& transport,
                       LaneOf laneOf,
                       FlowNetwork& network,
                       Agenda& agenda)
    : m_transport(transport),
      m_laneOf(std::move(laneOf)),
      m_network(network),
      m_connections(network.Connections()),
      m_rates(network.Rates()),
      m_agenda(agenda),
      m_buckets(topology),
      m_wires(transport)
{
}

void FlowSender::Send(const Flow& flow, int graph, uint16_t lane)
{
    const int number = m_connections.Of(flow, lane, m_agenda.Now());
    FlowConnection& connection = m_connections[number];
    m_slots.Append(connection.queue, m_slots.Take(flow, graph));
    if (connection.sending == kNoSlot && !connection.waiting)
    {
        SendNext(number);
    }
}

/// Takes flows from the connection's queue, up to the first that has bytes to send over links.
void FlowSender::SendNext(int number)
{
    FlowConnection& connection = m_connections[number];
    while (!connection.queue.Empty())
    {
        const int slot = connection.queue.first;
        if (m_slots[slot].flow.bytes > 0 && !connection.path.local)
        {
            PrepareOpening(connection, m_slots[slot].flow.opening);
            m_network.SetBusy(number, true);
            const TimeNs ramp = connection.start.IsOpen() ? 0 : RampTime(connection, slot);
            connection.waiting = ramp > 0;
            if (ramp > 0)
            {
                connection.ready = Later(m_agenda.Now(), ramp);
                m_agenda.Push(
                    connection.ready, FlowEvent::kReady, 0, static_cast<uint64_t>(number));
                return;
            }
            OnReady(number);
            return;
        }
        m_slots.Pop(connection.queue);
        Depart(connection, slot, m_agenda.Now());
    }
}

/// Opens another connection if its next flow asks for that, or else shrinks its window after an
/// idle time.
void FlowSender::PrepareOpening(FlowConnection& connection, Opening opening) const
{
    if (opening == Opening::New || opening == Opening::Established)
    {
        m_connections.Reopen(connection, opening, m_agenda.Now());
    }
    else if (m_transport.connections == ConnectionKind::Persistent)
    {
        connection.start.Shrink(
            connection.path, m_transport, m_agenda.Now() - connection.idleSince);
    }
}

/// Returns the time that a connection's next flow loses to the handshake and to slow start.
TimeNs FlowSender::RampTime(FlowConnection& connection, int slot)
{
    const FlowPath& path = connection.path;
    const auto wire = static_cast<double>(WireOf(slot, connection).wire);
    const double slowest = path.timed ? m_network.Links().SlowestOf(path) : path.slowest;
    return connection.start.TimeFor(path, m_transport, wire, slowest);
}

void FlowSender::OnReady(int number)
{
    FlowConnection& connection = m_connections[number];
    connection.waiting = false;
    connection.sending = m_slots.Pop(connection.queue);
    auto left = static_cast<double>(WireOf(connection.sending, connection).wire);
    left -= connection.start.TakeEarly();
    if (connection.path.buckets)
    {
        left -= m_buckets.Take(connection.path, left, m_network.Links().Now(), m_agenda.Now());
    }
    connection.progress.Begin(left, m_agenda.Now());
    connection.scheduled = kNever;
    if (connection.start.Losses())
    {
        FollowLosses(number);
    }
    m_rates.Start(number);
    if (m_rates.Rate(number) > 0)
    {
        OnRateChange(number);
    }
}

/// Takes the rate of a connection, and the time of its next loss, from its sawtooth.
void FlowSender::FollowLosses(int number)
{
    FlowConnection& connection = m_connections[number];
    const double most = connection.path.lossless;
    if (!connection.start.IsOpen())
    {
        connection.progress.RunToEnd(m_agenda.Now());
        m_rates.SetLimit(number, most);
        return;
    }
    const Sawtooth& losses = *connection.start.Losses();
    connection.progress.StopAfter(losses.Left(), m_agenda.Now());
    m_rates.SetLimit(number, std::min(most, losses.Rate()));
}

void FlowSender::LosePacket(int number)
{
    FlowConnection& connection = m_connections[number];
    connection.progress.ReachStop(m_agenda.Now());
    connection.scheduled = kNever;
    connection.start.Losses()->Lose(connection.progress.Rate());
    FollowLosses(number);
    OnRateChange(number);
}

/// Takes the connection's present rate and schedules the end of its flow.
void FlowSender::OnRateChange(int number)
{
    FlowConnection& connection = m_connections[number];
    connection.progress.SetRate(m_rates.Rate(number), m_agenda.Now());
    // An event that comes too early is scheduled again when it comes; only one that would come too
    // late is replaced.
    if (connection.progress.End() < connection.scheduled)
    {
        connection.scheduled = connection.progress.End();
        m_agenda.Push(connection.scheduled, FlowEvent::kSent, 0, static_cast<uint64_t>(number));
    }
}

/// Handles a flow's last byte or its next loss, or waits further if its rate has fallen.
void FlowSender::OnSent(int number)
{
    FlowConnection& connection = m_connections[number];
    const TimeNs end = connection.progress.End();
    if (end > m_agenda.Now())
    {
        connection.scheduled = end;
        if (end != kNever)
        {
            m_agenda.Push(end, FlowEvent::kSent, 0, static_cast<uint64_t>(number));
        }
        return;
    }
    connection.progress.Stops() ? LosePacket(number) : Finish(number);
}

/// Ends a flow whose last byte has left, and sends the next one.
void FlowSender::Finish(int number)
{
    FlowConnection& connection = m_connections[number];
    const FlowPath& path = connection.path;
    const int slot = connection.sending;
    const FlowWire& wire = WireOf(slot, connection);
    const double byteTime = path.timed ? m_network.Links().ByteTimeOf(path) : path.byteTime;
    const auto firstFrame =
        static_cast<double>(std::min(wire.wire, m_transport.FirstFrameBytes(path.switches)));
    const TimeNs latency = RoundedTime(path.delay + firstFrame * byteTime);
    // With several queue pairs, the next flow uses another one.
    const bool more = m_slots[slot].flow.more && m_transport.queuePairs == 1;
    Depart(connection, slot, Later(m_agenda.Now(), latency));
    StopSending(number, wire);
    if (connection.queue.Empty() && !more)
    {
        m_network.SetBusy(number, false);
    }
    SendNext(number);
}

/// Ends the sending of a flow, of which `sent` has left.
void FlowSender::StopSending(int number, const FlowWire& sent)
{
    FlowConnection& connection = m_connections[number];
    connection.Count(sent);
    connection.idleSince = m_agenda.Now();
    connection.sending = kNoSlot;
    connection.scheduled = kNever;
    if (Sawtooth* losses = connection.start.Losses())
    {
        losses->Send(connection.progress.TakeCounted(m_agenda.Now()));
    }
    m_rates.Stop(number);
    if (connection.path.buckets)
    {
        m_buckets.Return(connection.path, m_agenda.Now());
    }
}

/// Makes a flow that has left arrive at `arrival`, but not before those that left before it.
void FlowSender::Depart(FlowConnection& connection, int slot, TimeNs arrival)
{
    connection.lastArrival = std::max(connection.lastArrival, arrival);
    m_agenda.Push(connection.lastArrival,
                  FlowEvent::kArrived,
                  m_slots[slot].graph,
                  static_cast<uint64_t>(slot));
}

FlowSlot FlowSender::OnArrived(int slot)
{
    const FlowSlot arrived = m_slots[slot];
    m_slots.Free(slot);
    return arrived;
}

/// Stops a connection's present flow, and returns the payload of it that has left.
int64_t FlowSender::Interrupt(int number)
{
    const FlowConnection& connection = m_connections[number];
    const int slot = connection.sending;
    const FlowWire whole = WireOf(slot, connection);
    const double left = connection.progress.Left(m_agenda.Now());
    const double share = std::clamp(1 - left / static_cast<double>(whole.wire), 0.0, 1.0);
    StopSending(number, whole.Part(share));
    m_slots.Free(slot);
    return std::llround(share * static_cast<double>(whole.bytes));
}

/// Returns the slots of all flows of a connection, including those that have left.
std::vector<int> FlowSender::SlotsOf(const FlowConnection& connection) const
{
    return m_slots.Find(
        [&](const FlowSlot& slot)
        {
            return m_laneOf(slot.flow, slot.graph) == connection.lane &&
                   slot.flow.channel == connection.channel &&
                   slot.flow.source == connection.source &&
                   slot.flow.destination == connection.destination;
        });
}

int64_t FlowSender::Withdraw(const Flow& flow, int graph, uint16_t lane)
{
    const int number = m_connections.Of(flow, lane, m_agenda.Now());
    FlowConnection& connection = m_connections[number];
    const auto wanted = [&](int slot)
    {
        const Flow& other = m_slots[slot].flow;
        return m_slots[slot].graph == graph && other.tag == flow.tag &&
               other.source == flow.source && other.destination == flow.destination;
    };
    int64_t sent = 0;
    if (connection.sending != kNoSlot && wanted(connection.sending))
    {
        sent = Interrupt(number);
    }
    else
    {
        const int first = connection.queue.first;
        const int slot = m_slots.Remove(connection.queue, wanted);
        if (slot == kNoSlot)
        {
            // It has left, or it is not in flight.
            const std::vector<int> slots = SlotsOf(connection);
            const auto found = std::find_if(slots.begin(), slots.end(), wanted);
            if (found == slots.end())
            {
                return 0;
            }
            m_slots.Withdraw(*found);
            return m_slots[*found].flow.bytes;
        }
        m_slots.Free(slot);
        if (slot != first || !connection.waiting)
        {
            return 0;
        }
        connection.waiting = false;
    }
    if (connection.queue.Empty())
    {
        m_network.SetBusy(number, false);
    }
    SendNext(number);
    return sent;
}

std::vector<FlowSlot> FlowSender::Lose(int number)
{
    FlowConnection& connection = m_connections[number];
    std::vector<FlowSlot> lost;
    for (int slot : SlotsOf(connection))
    {
        lost.push_back(m_slots[slot]);
        m_slots.Withdraw(slot);
    }
    // Flows that have left are in the queue of events, which frees their slots.
    if (connection.sending != kNoSlot)
    {
        Interrupt(number);
    }
    while (!connection.queue.Empty())
    {
        m_slots.Free(m_slots.Pop(connection.queue));
    }
    connection.waiting = false;
    m_network.SetBusy(number, false);
    m_connections.Break(connection, m_agenda.Now());
    return lost;
}

const Flow* FlowSender::Sending(const FlowConnection& connection) const
{
    return connection.sending == kNoSlot ? nullptr : &m_slots[connection.sending].flow;
}

PresentFlow FlowSender::Present(const FlowConnection& connection) const
{
    PresentFlow present;
    if (const Flow* flow = Sending(connection))
    {
        const int switches = connection.path.switches;
        const auto wire = static_cast<double>(m_transport.WireBytes(flow->bytes, switches));
        present.bytes = std::clamp(wire - connection.progress.Left(m_agenda.Now()), 0.0, wire);
        present.ackBytes = present.bytes / wire *
                           static_cast<double>(m_transport.AckWireBytes(flow->bytes, switches));
        present.rate = connection.progress.Rate();
    }
    return present;
}

} // namespace legacy::fabric
