/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-network.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

using fabric::kPicosecondsPerNs;
using fabric::RoceClass;
using fabric::RoceSettings;

RoceNetwork::RoceNetwork(const fabric::Topology* topology,
                         const RoceSettings& settings,
                         const FrameRoom& room,
                         uint64_t seed,
                         RoceEnds* ends)
    : m_topology(topology),
      m_settings(settings),
      m_seed(seed),
      m_firstFrame(settings.LargestFrame(0)),
      m_ends(ends),
      m_frames(room.records, room.gap),
      m_ports(MakeRocePorts(*topology, settings)),
      m_switches(topology, &m_settings, room.telemetry, seed, &m_ports, &m_frames, ends),
      m_pauses(topology, &m_settings, &m_ports, this, ends)
{
}

RoceNetwork::~RoceNetwork() = default;

void RoceNetwork::SetQueue(DirectedLink link,
                           int64_t limit,
                           const std::optional<fabric::EcnThresholds>& marks)
{
    m_ports[link].queueLimit = limit;
    m_ports[link].marks.on = marks.has_value();
    m_ports[link].marks.ecn = marks.value_or(fabric::EcnThresholds());
}

void RoceNetwork::SetBucket(DirectedLink link, int64_t rateBps, int64_t burst)
{
    m_ports[link].bucket.Set(rateBps, burst);
}

void RoceNetwork::Schedule(Picoseconds at, RoceEventKind kind, uint32_t a)
{
    ScheduleRoce(this, at, kind, a, 0);
}

void RoceNetwork::OnEvent(RoceEventKind kind, uint32_t a, uint32_t b)
{
    const auto link = static_cast<DirectedLink>(a);
    switch (kind)
    {
    case RoceEventKind::Arrive:
        Arrive(link, b);
        break;
    case RoceEventKind::Free:
        m_ports[link].freeScheduled = false;
        Serve(link);
        break;
    case RoceEventKind::PauseEnd:
        if (m_pauses.OnPauseEnd(link))
        {
            Serve(link);
        }
        break;
    case RoceEventKind::Renew:
        if (const DirectedLink sends = m_pauses.OnRenew(link, b); sends != RocePauses::kNone)
        {
            Serve(sends);
        }
        break;
    case RoceEventKind::Watchdog:
        if (m_pauses.IsTooLong(link, b))
        {
            Bite(link);
        }
        break;
    case RoceEventKind::CheckWaiting:
        m_pauses.CheckWaiting();
        break;
    case RoceEventKind::Storm:
        Serve(m_pauses.OnStorm());
        break;
    default:
        m_ends->OnNicEvent(kind, a);
    }
}

void RoceNetwork::SetRate(DirectedLink link, int64_t rateBps, TimeNs until)
{
    constexpr Picoseconds kLongest = INT64_MAX / 2; // the clock cannot represent more
    RocePort& port = m_ports[link];
    if (rateBps == 0)
    {
        const bool ends = until < kLongest / kPicosecondsPerNs;
        port.outUntil = ends ? until * kPicosecondsPerNs : kLongest;
        return;
    }
    if (port.bucket.IsOn())
    {
        port.bucket.SetRate(rateBps);
    }
    else
    {
        port.line.SetRate(rateBps);
    }
    if (port.outUntil == 0)
    {
        return;
    }
    port.outUntil = 0;
    port.free = std::max(port.free, RoceNow());
    if (m_ports[link ^ 1].far.pausing)
    {
        Serve(m_pauses.Pause(link ^ 1, RoceNow())); // during the outage it could not be renewed
    }
    Serve(link);
}

void RoceNetwork::SendControl(DirectedLink link, uint32_t frame)
{
    Queue(link, frame);
    Serve(link);
}

void RoceNetwork::Queue(DirectedLink link, uint32_t frame)
{
    Frame& taken = m_frames[frame];
    RocePort& port = m_ports[link];
    if (taken.kind == FrameKind::Data)
    {
        taken.held = port.pause.Count() > 0 ? port.pause.TimeUntil(taken.at) : 0;
    }
    m_frames.Push(port.QueueOf(m_switches.ClassOf(taken)), frame, m_frames.InBuffer(taken));
    port.meter.maxQueue = std::max(port.meter.maxQueue, port.Waiting());
}

bool RoceNetwork::HasWork(DirectedLink link) const
{
    const RocePort& port = m_ports[link];
    return port.pauseFrame.pending || !port.QueueOf(RoceClass::Control).Empty() ||
           (!port.pause.IsOn() &&
            (!port.QueueOf(RoceClass::Data).Empty() || m_ends->IsReady(link)));
}

void RoceNetwork::Serve(DirectedLink link)
{
    RocePort& port = m_ports[link];
    if (port.freeScheduled || port.outUntil > 0)
    {
        return;
    }
    if (port.bucket.IsOn() && HasWork(link))
    {
        port.free = std::max(port.free, port.bucket.ReadyFor(NextWire(link)));
    }
    if (port.free <= RoceNow())
    {
        Picoseconds from = port.free;
        const uint32_t frame = Pick(link, from);
        if (frame == Frame::kNone)
        {
            return;
        }
        Send(link, frame, from);
    }
    if (HasWork(link))
    {
        port.freeScheduled = true;
        ScheduleRoce(this, port.free, RoceEventKind::Free, static_cast<uint32_t>(link), 0);
    }
}

int64_t RoceNetwork::NextWire(DirectedLink link) const
{
    const RocePort& port = m_ports[link];
    for (const FrameList& queue : port.queues)
    {
        if (!queue.Empty())
        {
            return m_frames[queue.head].wire;
        }
    }
    return m_firstFrame;
}

uint32_t RoceNetwork::Pick(DirectedLink link, Picoseconds& from)
{
    RocePort& port = m_ports[link];
    if (port.pauseFrame.pending)
    {
        port.pauseFrame.pending = false;
        const uint32_t frame = m_frames.Take();
        m_frames[frame].kind = FrameKind::Pause;
        m_frames[frame].psn = uint64_t{1} << m_settings.priority;
        m_frames[frame].payload = port.pauseFrame.quanta;
        m_frames[frame].wire = RoceSettings::kPauseBytes;
        from = std::max(from, port.pauseFrame.from);
        return frame;
    }
    const uint32_t control = PickQueued(link, RoceClass::Control, from);
    if (control != Frame::kNone || port.pause.IsOn())
    {
        return control;
    }
    from = std::max(from, port.pause.Resumed());
    // If a NIC sends through a port with a queue, both take turns, as many frames each.
    const bool nicFirst = port.turns == 0 && m_ends->IsReady(link);
    uint32_t frame = nicFirst ? Frame::kNone : PickQueued(link, RoceClass::Data, from);
    if (frame != Frame::kNone)
    {
        port.turns = std::max(0, port.turns - m_frames[frame].frames);
    }
    else
    {
        frame = m_ends->Next(link, from);
        port.turns = frame != Frame::kNone ? m_frames[frame].frames : 1;
        if (frame != Frame::kNone)
        {
            from = m_frames[frame].sent;
        }
        else
        {
            frame = PickQueued(link, RoceClass::Data, from);
        }
    }
    port.lastData = frame == Frame::kNone ? port.lastData : from;
    return frame;
}

uint32_t RoceNetwork::PickQueued(DirectedLink link, RoceClass of, Picoseconds& from)
{
    FrameList& queue = m_ports[link].QueueOf(of);
    if (queue.Empty())
    {
        return Frame::kNone;
    }
    const uint32_t frame = m_frames.Pop(queue, m_frames.InBuffer(m_frames[queue.head]));
    Frame& taken = m_frames[frame];
    from = std::max(from, taken.at);
    if (taken.ingress != Frame::kNoPort)
    {
        Leave(link, frame, from);
    }
    else if (taken.kind != FrameKind::Data)
    {
        taken.held = from - taken.at;
    }
    else
    {
        m_ends->OnLeft(frame);
    }
    return frame;
}

void RoceNetwork::Send(DirectedLink link, uint32_t frame, Picoseconds start)
{
    RocePort& port = m_ports[link];
    Frame& sent = m_frames[frame];
    const Picoseconds time = port.line.SerialisationOf(sent.wire);
    port.free = start + time;
    port.meter.packets += sent.frames;
    port.meter.bytes += sent.wire;
    if (port.bucket.IsOn())
    {
        port.bucket.Take(start, sent.wire);
        port.meter.Occupy(start, port.bucket.TimeOf(sent.wire));
    }
    else
    {
        port.meter.Occupy(start, time);
    }
    if (m_tap)
    {
        m_tap(link, frame, start, false);
    }
    if (Loses(link, sent))
    {
        port.meter.drops += sent.frames;
        m_frames.Give(frame);
        return;
    }
    sent.at = port.free + (sent.kind == FrameKind::Pause ? port.wireDelay : port.delay);
    if (sent.frames > 1)
    {
        sent.at = std::max(sent.at - HeadStart(link, sent), RoceNow());
    }
    ScheduleRoce(this, sent.at, RoceEventKind::Arrive, static_cast<uint32_t>(link), frame);
}

Picoseconds RoceNetwork::HeadStart(DirectedLink link, const Frame& train) const
{
    Frame there = train;
    ++there.hop;
    const DirectedLink out = m_ends->NextLink(there, m_topology->To(link));
    if (out == RoceEnds::kWayEnds)
    {
        return 0;
    }
    const int64_t first = train.kind == FrameKind::Ack ? train.wire / train.frames : m_firstFrame;
    const int64_t rest = std::max<int64_t>(0, train.wire - first);
    return std::min(SerialisationOf(link, rest), SerialisationOf(out, rest));
}

bool RoceNetwork::Loses(DirectedLink link, const Frame& frame)
{
    return (m_drop && m_drop(link, frame)) ||
           m_ports[link].line.Loses(m_seed, m_draws, static_cast<uint64_t>(link));
}

void RoceNetwork::Arrive(DirectedLink link, uint32_t frame)
{
    Frame& arrived = m_frames[frame];
    if (m_tap)
    {
        m_tap(link, frame, arrived.at, true);
    }
    if (arrived.kind == FrameKind::Pause)
    {
        const int quanta = arrived.payload;
        const Picoseconds at = arrived.at;
        m_frames.Give(frame);
        if (m_pauses.OnFrame(link ^ 1, quanta, at))
        {
            Serve(link ^ 1);
        }
        return;
    }
    ++arrived.hop;
    const DirectedLink out = m_ends->NextLink(arrived, m_topology->To(link));
    if (out == RoceEnds::kWayEnds)
    {
        m_ends->Receive(frame);
        return;
    }
    Forward(link, out, frame);
}

void RoceNetwork::Forward(DirectedLink link, DirectedLink out, uint32_t frame)
{
    const RoceSwitches::Admission admission = m_switches.Admit(link, out, frame);
    if (admission == RoceSwitches::Admission::Dropped)
    {
        return;
    }
    if (admission == RoceSwitches::Admission::Pauses)
    {
        Serve(m_pauses.Pause(link, m_frames[frame].at));
    }
    m_switches.OnWaiting(link, out, frame);
    SendControl(out, frame);
}

void RoceNetwork::Leave(DirectedLink link, uint32_t frame, Picoseconds start)
{
    if (const DirectedLink cause = m_switches.Release(link, frame); cause >= 0)
    {
        Serve(m_pauses.Resume(cause, start));
    }
    m_switches.OnLeaving(link, frame, start);
}

void RoceNetwork::Bite(DirectedLink link)
{
    m_ports[link].pause.StartDropping();
    Picoseconds from = RoceNow();
    for (uint32_t frame = PickQueued(link, RoceClass::Data, from); frame != Frame::kNone;
         frame = PickQueued(link, RoceClass::Data, from))
    {
        m_switches.Bite(link, frame);
    }
}

} // namespace packet
} // namespace legacy
