/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-network.h"

#include "base/error.h"
#include "base/hash.h"
#include "fabric/roce/buffers.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace legacy
{
namespace packet
{

using fabric::kPicosecondsPerNs;
using fabric::RoceClass;
using fabric::RoceSettings;

namespace
{

constexpr int64_t kPerSecond = 1'000'000'000'000; ///< picoseconds

int64_t InBuffer(const Frame& frame)
{
    return RoceSettings::InBuffer(frame.wire, frame.frames);
}

Picoseconds RoundedUp(__int128 numerator, int64_t denominator)
{
    return static_cast<Picoseconds>((numerator + denominator - 1) / denominator);
}

} // namespace

RoceNetwork::RoceNetwork(const fabric::Topology* topology,
                         const RoceSettings& settings,
                         bool telemetry,
                         uint64_t seed,
                         RoceEnds* ends)
    : m_topology(topology),
      m_settings(settings),
      m_telemetry(telemetry),
      m_seed(seed),
      m_firstFrame(settings.LargestFrame(0)),
      m_ends(ends),
      m_frames(telemetry ? static_cast<std::size_t>(topology->NodeCount()) : 0),
      m_ports(2 * topology->Links().size()),
      m_numbers(m_ports.size()),
      m_buffers(topology->NodeCount())
{
    for (int node = 0; node < topology->NodeCount(); ++node)
    {
        const std::vector<DirectedLink>& out = topology->Out(node);
        for (std::size_t i = 0; i < out.size(); ++i)
        {
            m_numbers[out[i]] = static_cast<uint16_t>(i);
        }
        if (!topology->IsHost(node))
        {
            m_buffers[node] = fabric::MakeSwitchBuffer(*topology, node, settings);
        }
    }
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(m_ports.size()); ++link)
    {
        const fabric::Port& from = topology->PortOf(link);
        Port& port = m_ports[link];
        port.SetRate(from.rateBps);
        port.wireDelay = topology->LinkOf(link).delay * kPicosecondsPerNs;
        const bool toSwitch = !topology->IsHost(topology->To(link));
        port.delay = port.wireDelay + (toSwitch ? settings.switchDelay * kPicosecondsPerNs : 0);
        port.errorRate = from.errorRate;
        port.queueLimit = from.queueBytes;
        port.marks = settings.ecn && !topology->IsHost(topology->From(link));
        if (port.marks)
        {
            port.ecn = settings.ecn->Of(static_cast<double>(port.rate));
        }
        if (toSwitch)
        {
            port.at.resize(topology->Out(topology->To(link)).size());
        }
    }
    if (settings.storm)
    {
        ScheduleRoce(this, settings.storm->from * kPicosecondsPerNs, RoceEventKind::Storm, 0, 0);
    }
}

RoceNetwork::~RoceNetwork() = default;

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
        if (m_ports[link].paused && m_ports[link].pausedUntil <= RoceNow())
        {
            ++m_expired;
            EndPause(link, m_ports[link].pausedUntil);
        }
        break;
    case RoceEventKind::Renew:
        if (m_ports[link].pausing && m_ports[link].renewal == b && m_ports[link ^ 1].outUntil == 0)
        {
            SendPause(link, RoceNow());
        }
        break;
    case RoceEventKind::Watchdog:
        if (m_ports[link].paused && m_ports[link].pause == b)
        {
            Bite(link);
        }
        break;
    case RoceEventKind::CheckWaiting:
        CheckWaiting();
        break;
    case RoceEventKind::Storm:
        SendStorm();
        break;
    default:
        m_ends->OnCardEvent(kind, a);
    }
}

// ---------------------------------------------------------------------------------------------
// Ports
// ---------------------------------------------------------------------------------------------

Picoseconds RoceNetwork::FreeAt(DirectedLink link) const
{
    return m_ports[link].free;
}

int64_t RoceNetwork::RateOf(DirectedLink link) const
{
    return m_ports[link].rate;
}

void RoceNetwork::Port::SetRate(int64_t rateBps)
{
    rate = rateBps;
    perByte = 8 * kPerSecond % rate == 0 ? 8 * kPerSecond / rate : 0;
}

void RoceNetwork::SetRate(DirectedLink link, int64_t rateBps, TimeNs until)
{
    constexpr Picoseconds kLongest = INT64_MAX / 2; // the clock has no more
    Port& port = m_ports[link];
    if (rateBps == 0)
    {
        const bool ends = until < kLongest / kPicosecondsPerNs;
        port.outUntil = ends ? until * kPicosecondsPerNs : kLongest;
        return;
    }
    port.SetRate(rateBps);
    if (port.outUntil == 0)
    {
        return;
    }
    port.outUntil = 0;
    port.free = std::max(port.free, RoceNow());
    if (m_ports[link ^ 1].pausing)
    {
        SendPause(link ^ 1, RoceNow()); // which could not be renewed
    }
    Serve(link);
}

Picoseconds RoceNetwork::OutUntil(DirectedLink link) const
{
    return m_ports[link].outUntil;
}

Picoseconds RoceNetwork::SerialisationOf(DirectedLink link, int64_t wire) const
{
    const Port& port = m_ports[link];
    return port.perByte > 0 ? wire * port.perByte
                            : RoundedUp(__int128{8} * wire * kPerSecond, port.rate);
}

RoceClass RoceNetwork::ClassOf(const Frame& frame) const
{
    return frame.kind == FrameKind::Data || !m_settings.acksFirst ? RoceClass::Data
                                                                  : RoceClass::Control;
}

void RoceNetwork::SendControl(DirectedLink link, uint32_t frame)
{
    Enqueue(link, frame);
}

void RoceNetwork::Enqueue(DirectedLink link, uint32_t frame)
{
    Frame& taken = m_frames[frame];
    Port& port = m_ports[link];
    if (taken.kind == FrameKind::Data)
    {
        taken.held = port.pauses > 0 ? PausedUntil(link, taken.at) : 0;
    }
    FrameList& queue = port.queues[static_cast<std::size_t>(ClassOf(taken))];
    m_frames.Push(queue, frame, InBuffer(taken));
    int64_t waiting = 0;
    for (const FrameList& list : port.queues)
    {
        waiting += list.bytes;
    }
    port.maxQueue = std::max(port.maxQueue, waiting);
    Serve(link);
}

bool RoceNetwork::HasWork(DirectedLink link) const
{
    const Port& port = m_ports[link];
    const auto& control = port.queues[static_cast<std::size_t>(RoceClass::Control)];
    const auto& data = port.queues[static_cast<std::size_t>(RoceClass::Data)];
    return port.pausePending || !control.Empty() ||
           (!port.paused && (!data.Empty() || m_ends->IsReady(link)));
}

void RoceNetwork::Serve(DirectedLink link)
{
    Port& port = m_ports[link];
    if (port.freeScheduled || port.outUntil > 0)
    {
        return;
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

uint32_t RoceNetwork::Pick(DirectedLink link, Picoseconds& from)
{
    Port& port = m_ports[link];
    if (port.pausePending)
    {
        port.pausePending = false;
        const uint32_t frame = m_frames.Take();
        m_frames[frame].kind = FrameKind::Pause;
        m_frames[frame].psn = uint64_t{1} << m_settings.priority;
        m_frames[frame].payload = port.pauseQuanta;
        m_frames[frame].wire = RoceSettings::kPauseBytes;
        from = std::max(from, port.pauseFrom);
        return frame;
    }
    const uint32_t control = PickQueued(link, RoceClass::Control, from);
    if (control != Frame::kNone || port.paused)
    {
        return control;
    }
    from = std::max(from, port.resumed);
    // Where a card sends through the port of a switch, both take turns.
    const bool cardFirst = port.data && m_ends->IsReady(link);
    uint32_t frame = cardFirst ? Frame::kNone : PickQueued(link, RoceClass::Data, from);
    port.data = frame != Frame::kNone;
    if (frame == Frame::kNone)
    {
        frame = m_ends->Next(link, from);
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
    FrameList& queue = m_ports[link].queues[static_cast<std::size_t>(of)];
    if (queue.Empty())
    {
        return Frame::kNone;
    }
    const uint32_t frame = m_frames.Pop(queue, InBuffer(m_frames[queue.head]));
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
    return frame;
}

void RoceNetwork::Send(DirectedLink link, uint32_t frame, Picoseconds start)
{
    Port& port = m_ports[link];
    Frame& sent = m_frames[frame];
    const Picoseconds time = SerialisationOf(link, sent.wire);
    port.free = start + time;
    port.packets += sent.frames;
    port.bytes += sent.wire;
    Occupy(port, start, time);
    if (m_tap)
    {
        m_tap(link, frame, start, false);
    }
    if (Loses(link, sent))
    {
        port.drops += sent.frames;
        m_frames.Give(frame);
        return;
    }
    sent.at = port.free + (sent.kind == FrameKind::Pause ? port.wireDelay : port.delay);
    if (sent.frames > 1)
    {
        sent.at -= HeadStart(link, sent);
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
    const int64_t rest = std::max<int64_t>(0, train.wire - m_firstFrame);
    return std::min(SerialisationOf(link, rest), SerialisationOf(out, rest));
}

bool RoceNetwork::Loses(DirectedLink link, const Frame& frame)
{
    if (m_drop && m_drop(link, frame))
    {
        return true;
    }
    Port& port = m_ports[link];
    if (port.errorRate <= 0)
    {
        return false;
    }
    if (port.untilLoss < 0)
    {
        // A geometric gap: one draw for each loss.
        const double u = UnitInterval(
            HashWords({m_seed, m_draws, static_cast<uint64_t>(link), port.losses++, 0x6c6f7373}));
        port.untilLoss =
            port.errorRate >= 1
                ? 0
                : static_cast<int64_t>(std::min(std::log(u) / std::log1p(-port.errorRate), 9e18));
    }
    return port.untilLoss-- == 0;
}

void RoceNetwork::Occupy(Port& port, Picoseconds start, Picoseconds time)
{
    constexpr Picoseconds kWindow = fabric::kPeakWindow * kPicosecondsPerNs;
    port.busy += time;
    while (time > 0)
    {
        const int64_t window = start / kWindow;
        if (window != port.window)
        {
            port.window = window;
            port.inWindow = 0;
        }
        const Picoseconds part = std::min(time, (window + 1) * kWindow - start);
        port.inWindow += part;
        port.peak = std::max(port.peak, port.inWindow);
        start += part;
        time -= part;
    }
}

// ---------------------------------------------------------------------------------------------
// Switches
// ---------------------------------------------------------------------------------------------

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
        OnPause(link ^ 1, quanta, at);
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
    Frame& arrived = m_frames[frame];
    const int node = m_topology->To(link);
    const int64_t bytes = InBuffer(arrived);
    const RoceClass of = ClassOf(arrived);
    const bool data = of == RoceClass::Data;
    Port& to = m_ports[out];
    fabric::SharedBuffer& buffer = *m_buffers[node];
    if (data && to.dropping)
    {
        m_bitten += arrived.frames;
        Drop(out, frame, false);
        return;
    }
    if (data && !m_settings.pfc)
    {
        const int64_t waiting = to.queues[static_cast<std::size_t>(of)].bytes + bytes;
        if (waiting > buffer.Threshold(m_settings.egressAlpha) ||
            (to.queueLimit > 0 && waiting > to.queueLimit))
        {
            Drop(out, frame, false);
            return;
        }
    }
    const int ingress = m_numbers[link ^ 1];
    if (!buffer.Admit(ingress, of, bytes))
    {
        // Where pauses of that link may be lost, or wait, so may what should have been paused.
        const bool paused = m_ports[link ^ 1].errorRate <= 0 &&
                            !m_topology->PortOf(link).schedule &&
                            !m_topology->PortOf(link ^ 1).schedule;
        Drop(out, frame, data && m_settings.pfc && paused);
        return;
    }
    arrived.ingress = static_cast<uint16_t>(ingress);
    if (data)
    {
        m_ports[link].at[m_numbers[out]] += bytes;
        if (!m_ports[link].pausing && buffer.WantsPause(ingress))
        {
            SendPause(link, arrived.at);
        }
    }
    if (m_settings.markAtEnqueue)
    {
        const int64_t each = bytes / arrived.frames;
        Mark(out, frame, to.queues[static_cast<std::size_t>(of)].bytes + bytes, -each);
    }
    Enqueue(out, frame);
}

void RoceNetwork::Drop(DirectedLink link, uint32_t frame, bool lossless)
{
    m_ports[link].drops += m_frames[frame].frames;
    m_frames.Give(frame);
    if (lossless && !m_settings.dropsAllowed)
    {
        const int node = m_topology->From(link);
        m_ends->OnFailure("switch " + m_topology->NodeName(node) + " at " +
                          FormatTime(RoceNow() / kPicosecondsPerNs) +
                          ": no room for a frame of the lossless class, as its headroom is too "
                          "small (roce:headroom=auto reckons it, pfc-drops=allow goes on)");
    }
}

void RoceNetwork::Leave(DirectedLink link, uint32_t frame, Picoseconds start)
{
    Frame& leaving = m_frames[frame];
    const int node = m_topology->From(link);
    const DirectedLink cause = m_topology->Out(node)[leaving.ingress] ^ 1;
    const int64_t bytes = InBuffer(leaving);
    const RoceClass of = ClassOf(leaving);
    Port& port = m_ports[link];
    fabric::SharedBuffer& buffer = *m_buffers[node];
    const int ingress = std::exchange(leaving.ingress, Frame::kNoPort);
    buffer.Release(ingress, of, bytes);
    if (of == RoceClass::Data)
    {
        m_ports[cause].at[m_numbers[link]] -= bytes;
        if (m_ports[cause].pausing && buffer.WantsResume(ingress))
        {
            SendResume(cause, start);
        }
    }
    if (leaving.kind != FrameKind::Data)
    {
        return;
    }
    const int64_t queued = port.queues[static_cast<std::size_t>(of)].bytes;
    if (!m_settings.markAtEnqueue)
    {
        Mark(link, frame, queued, bytes / leaving.frames);
    }
    if (port.pauses > 0)
    {
        const Picoseconds waited = PausedUntil(link, start) - leaving.held;
        if (waited > 0)
        {
            m_ends->OnWaited(leaving, link, port.root, waited);
        }
    }
    if (m_telemetry)
    {
        leaving.wire += static_cast<int32_t>(fabric::kIntRecordBytes);
        m_frames.RecordsOf(frame)[leaving.hop - 1] = {
            static_cast<double>(port.rate), start, port.bytes + leaving.wire, queued};
    }
}

void RoceNetwork::Mark(DirectedLink link, uint32_t frame, int64_t queued, int64_t step)
{
    Port& port = m_ports[link];
    Frame& marked = m_frames[frame];
    if (!port.marks || marked.kind != FrameKind::Data)
    {
        return;
    }
    for (int behind = marked.frames - 1; behind >= 0; --behind)
    {
        const double share = port.ecn.Probability(queued + behind * step);
        if (share > 0 && (share >= 1 || MarkingDraw(link) < share))
        {
            ++port.marked;
            ++marked.marks;
        }
    }
}

double RoceNetwork::MarkingDraw(DirectedLink link)
{
    const uint64_t count = m_ports[link].candidates++;
    const auto port = static_cast<uint64_t>(link);
    return m_settings.marksAtRandom
               ? UnitInterval(HashWords({m_seed, m_draws, port, count, 0x6d61726b}))
               : fabric::MarkingDraw(m_seed, port, count);
}

// ---------------------------------------------------------------------------------------------
// Counters
// ---------------------------------------------------------------------------------------------

void RoceNetwork::ResetMarks()
{
    for (Port& port : m_ports)
    {
        port.candidates = 0;
    }
}

void RoceNetwork::ResetLosses(uint64_t draws)
{
    m_draws = draws;
    for (Port& port : m_ports)
    {
        port.losses = 0;
        port.untilLoss = -1;
    }
}

bool RoceNetwork::IsLossy() const
{
    return std::any_of(
        m_ports.begin(), m_ports.end(), [](const Port& port) { return port.errorRate > 0; });
}

bool RoceNetwork::IsRandom() const
{
    return IsLossy() || (m_settings.ecn && m_settings.marksAtRandom);
}

void RoceNetwork::SetDrop(std::function<bool(DirectedLink link, const Frame& frame)> drop)
{
    m_drop = std::move(drop);
}

bool RoceNetwork::IsFull(DirectedLink link) const
{
    const Port& port = m_ports[link];
    const FrameList& data = port.queues[static_cast<std::size_t>(RoceClass::Data)];
    return !port.paused && !data.Empty() && m_frames[data.head].at >= port.resumed;
}

void RoceNetwork::SetTap(Tap tap)
{
    m_tap = std::move(tap);
}

std::vector<fabric::LinkCounters> RoceNetwork::GetCounters() const
{
    const Picoseconds now = RoceNow();
    std::vector<fabric::LinkCounters> counters;
    counters.reserve(m_ports.size());
    for (const Port& port : m_ports)
    {
        fabric::LinkCounters counter;
        counter.bytes = port.bytes;
        counter.packets = port.packets;
        counter.drops = port.drops;
        counter.marks = port.marked;
        counter.maxQueueBytes = port.maxQueue;
        counter.busy = (port.busy + kPicosecondsPerNs / 2) / kPicosecondsPerNs;
        counter.peak = static_cast<double>(port.peak) /
                       static_cast<double>(fabric::kPeakWindow * kPicosecondsPerNs);
        counter.pauses = port.pauses;
        const Picoseconds present =
            port.paused ? std::max<Picoseconds>(0, now - port.pausedSince) : 0;
        counter.paused = (port.pausedTime + present + kPicosecondsPerNs / 2) / kPicosecondsPerNs;
        Picoseconds most = present;
        counter.pauseRoot = port.paused ? port.root : -1;
        for (const auto& [root, time] : port.roots)
        {
            if (time > most)
            {
                most = time;
                counter.pauseRoot = root;
            }
        }
        counters.push_back(counter);
    }
    return counters;
}

std::vector<fabric::LinkActivity> RoceNetwork::GetActivity() const
{
    const Picoseconds now = RoceNow();
    std::vector<fabric::LinkActivity> activity;
    activity.reserve(m_ports.size());
    for (const Port& port : m_ports)
    {
        fabric::LinkActivity present;
        const auto ahead = static_cast<double>(std::max<Picoseconds>(0, port.free - now));
        present.bytes = static_cast<double>(port.bytes) -
                        ahead * static_cast<double>(port.rate) / (8.0 * kPerSecond);
        for (const FrameList& queue : port.queues)
        {
            present.queueBytes += queue.bytes;
        }
        present.paused = port.paused;
        activity.push_back(present);
    }
    return activity;
}

std::vector<int64_t> RoceNetwork::GetBuffers() const
{
    std::vector<int64_t> bytes;
    bytes.reserve(m_buffers.size());
    for (const auto& buffer : m_buffers)
    {
        bytes.push_back(buffer ? buffer->Used() : 0);
    }
    return bytes;
}

void RoceNetwork::AddCounters(fabric::EngineCounters& counters) const
{
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(m_ports.size()); ++link)
    {
        if (m_topology->IsHost(m_topology->To(link)))
        {
            counters.packets += static_cast<uint64_t>(m_ports[link].packets);
        }
    }
    counters.roce.watchdogDrops = m_bitten;
    for (const auto& buffer : m_buffers)
    {
        if (!buffer)
        {
            continue;
        }
        if (buffer->MaxUsed() > counters.roce.maxBuffer)
        {
            counters.roce.maxBuffer = buffer->MaxUsed();
            counters.roce.bufferBytes = buffer->Size();
        }
        counters.roce.maxHeadroom = std::max(counters.roce.maxHeadroom, buffer->MaxHeadroomShare());
    }
}

int64_t RoceNetwork::GetBuffered() const
{
    int64_t bytes = 0;
    for (const auto& buffer : m_buffers)
    {
        bytes += buffer ? buffer->Used() : 0;
    }
    return bytes;
}

std::array<uint64_t, 3> RoceNetwork::GetPauses() const
{
    uint64_t pauses = 0;
    for (const Port& port : m_ports)
    {
        pauses += static_cast<uint64_t>(port.pauses);
    }
    return {pauses, m_resumes, m_expired};
}

} // namespace packet
} // namespace legacy
