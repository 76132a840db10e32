/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-switches.h"

#include "base/hash.h"
#include "base/units.h"
#include "fabric/roce/buffers.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace legacy
{
namespace packet
{

using fabric::RoceClass;

RoceSwitches::RoceSwitches(const fabric::Topology* topology,
                           const fabric::RoceSettings* settings,
                           bool telemetry,
                           uint64_t seed,
                           std::vector<RocePort>* ports,
                           FramePool* frames,
                           RoceEnds* ends)
    : m_topology(topology),
      m_settings(settings),
      m_telemetry(telemetry),
      m_seed(seed),
      m_ports(*ports),
      m_frames(*frames),
      m_ends(ends),
      m_numbers(ports->size()),
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
            m_buffers[node] = fabric::MakeSwitchBuffer(*topology, node, *settings);
        }
    }
}

RoceSwitches::~RoceSwitches() = default;

int64_t RoceSwitches::RoomOf(const RocePort& port, const fabric::SharedBuffer& buffer) const
{
    const int64_t limit = buffer.Threshold(m_settings->egressAlpha);
    return (port.queueLimit > 0 ? std::min(limit, port.queueLimit) : limit) -
           port.QueueOf(RoceClass::Data).bytes;
}

int64_t RoceSwitches::GrowthOf(DirectedLink link, DirectedLink out, int64_t bytes) const
{
    const double slower = static_cast<double>(m_ports[out].line.Rate()) /
                          static_cast<double>(m_ports[link].line.Rate());
    return slower < 1 ? static_cast<int64_t>((1 - slower) * static_cast<double>(bytes)) : 0;
}

bool RoceSwitches::Trim(DirectedLink link, DirectedLink out, Frame& train)
{
    const int node = m_topology->To(link);
    const int64_t each = m_frames.InBuffer(train) / train.frames;
    const int64_t room = RoomOf(m_ports[out], *m_buffers[node]) - each;
    if (room < 0)
    {
        return false;
    }
    const int64_t growth = GrowthOf(link, out, each);
    const int64_t frames = growth > 0 ? 1 + room / growth : train.frames;
    if (frames >= train.frames)
    {
        return true;
    }
    // What ACKs say stays true, as the later ones say it again.
    m_ports[out].meter.drops += train.frames - frames;
    train.wire = static_cast<int32_t>(train.wire / train.frames * frames);
    train.payload = static_cast<int32_t>(train.payload / train.frames * frames);
    train.marks = static_cast<uint8_t>(std::min<int64_t>(train.marks, frames));
    train.frames = static_cast<uint8_t>(frames);
    return true;
}

RoceSwitches::Admission RoceSwitches::Admit(DirectedLink link, DirectedLink out, uint32_t frame)
{
    Frame& arrived = m_frames[frame];
    const RoceClass of = ClassOf(arrived);
    const bool data = of == RoceClass::Data;
    const RocePort& to = m_ports[out];
    fabric::SharedBuffer& buffer = *m_buffers[m_topology->To(link)];
    if (data && to.pause.IsDropping())
    {
        Bite(out, frame);
        return Admission::Dropped;
    }
    if (data && !m_settings->pfc && RoomOf(to, buffer) < m_frames.InBuffer(arrived) &&
        !Trim(link, out, arrived))
    {
        Drop(out, frame, false);
        return Admission::Dropped;
    }
    const int64_t bytes = m_frames.InBuffer(arrived);
    const int ingress = m_numbers[link ^ 1];
    if (!buffer.Admit(ingress, of, bytes))
    {
        // If pauses of that link may be lost or delayed, frames that should have been paused may be
        // dropped.
        const bool paused = !m_ports[link ^ 1].line.IsLossy() &&
                            !m_topology->PortOf(link).schedule &&
                            !m_topology->PortOf(link ^ 1).schedule;
        Drop(out, frame, data && m_settings->pfc && paused);
        return Admission::Dropped;
    }
    arrived.ingress = static_cast<uint16_t>(ingress);
    if (!data)
    {
        return Admission::Taken;
    }
    RocePort::FarEnd& far = m_ports[link].far;
    far.at[m_numbers[out]] += bytes;
    return !far.pausing && buffer.WantsPause(ingress) ? Admission::Pauses : Admission::Taken;
}

void RoceSwitches::MarkWaiting(DirectedLink link, DirectedLink out, uint32_t frame)
{
    const Frame& arrived = m_frames[frame];
    const int64_t each = m_frames.InBuffer(arrived) / arrived.frames;
    const int64_t growth = arrived.frames > 1 ? GrowthOf(link, out, each) : 0;
    const int64_t last = each + (arrived.frames - 1) * growth;
    Mark(out, frame, m_ports[out].QueueOf(ClassOf(arrived)).bytes + last, -growth);
}

void RoceSwitches::Drop(DirectedLink link, uint32_t frame, bool lossless)
{
    m_ports[link].meter.drops += m_frames[frame].frames;
    m_frames.Give(frame);
    if (lossless && !m_settings->dropsAllowed)
    {
        const int node = m_topology->From(link);
        m_ends->OnFailure("switch " + m_topology->NodeName(node) + " at " +
                          FormatTime(RoceNow() / fabric::kPicosecondsPerNs) +
                          ": no room for a frame of the lossless class, as its headroom is too "
                          "small (roce:headroom=auto reckons it, pfc-drops=allow continues)");
    }
}

void RoceSwitches::Bite(DirectedLink link, uint32_t frame)
{
    m_bitten += m_frames[frame].frames;
    Drop(link, frame, false);
}

DirectedLink RoceSwitches::Release(DirectedLink link, uint32_t frame)
{
    Frame& leaving = m_frames[frame];
    const int node = m_topology->From(link);
    const DirectedLink cause = m_topology->Out(node)[leaving.ingress] ^ 1;
    const int64_t bytes = m_frames.InBuffer(leaving);
    const RoceClass of = ClassOf(leaving);
    fabric::SharedBuffer& buffer = *m_buffers[node];
    const int ingress = std::exchange(leaving.ingress, Frame::kNoPort);
    buffer.Release(ingress, of, bytes);
    if (of != RoceClass::Data)
    {
        return -1;
    }
    RocePort::FarEnd& far = m_ports[cause].far;
    far.at[m_numbers[link]] -= bytes;
    return far.pausing && buffer.WantsResume(ingress) ? cause : -1;
}

void RoceSwitches::OnLeaving(DirectedLink link, uint32_t frame, Picoseconds start)
{
    Frame& leaving = m_frames[frame];
    if (leaving.kind != FrameKind::Data)
    {
        return;
    }
    const RocePort& port = m_ports[link];
    const int64_t queued = port.QueueOf(ClassOf(leaving)).bytes;
    if (!m_settings->markAtEnqueue)
    {
        Mark(link, frame, queued, m_frames.InBuffer(leaving) / leaving.frames);
    }
    if (port.pause.Count() > 0)
    {
        const Picoseconds waited = port.pause.TimeUntil(start) - leaving.held;
        if (waited > 0)
        {
            m_ends->OnWaited(leaving, link, port.pause.Root(), waited);
        }
    }
    if (m_telemetry)
    {
        leaving.wire += static_cast<int32_t>(fabric::kIntRecordBytes);
        m_frames.RecordsOf(frame)[leaving.hop - 1] = {
            static_cast<double>(port.line.Rate()), start, port.meter.bytes + leaving.wire, queued};
    }
}

void RoceSwitches::Mark(DirectedLink link, uint32_t frame, int64_t queued, int64_t step)
{
    RocePort::Marks& marks = m_ports[link].marks;
    Frame& marked = m_frames[frame];
    if (!marks.on || marked.kind != FrameKind::Data)
    {
        return;
    }
    for (int behind = marked.frames - 1; behind >= 0; --behind)
    {
        const double share = marks.ecn.Probability(queued + behind * step);
        if (share > 0 && (share >= 1 || MarkingDraw(link) < share))
        {
            ++marks.marked;
            ++marked.marks;
        }
    }
}

double RoceSwitches::MarkingDraw(DirectedLink link)
{
    const uint64_t count = m_ports[link].marks.candidates++;
    const auto port = static_cast<uint64_t>(link);
    return m_settings->marksAtRandom
               ? UnitInterval(HashWords({m_seed, m_draws, port, count, 0x6d61726b}))
               : fabric::MarkingDraw(m_seed, port, count);
}

std::vector<int64_t> RoceSwitches::GetBuffers() const
{
    std::vector<int64_t> bytes;
    bytes.reserve(m_buffers.size());
    for (const auto& buffer : m_buffers)
    {
        bytes.push_back(buffer ? buffer->Used() : 0);
    }
    return bytes;
}

int64_t RoceSwitches::GetBuffered() const
{
    int64_t bytes = 0;
    for (const auto& buffer : m_buffers)
    {
        bytes += buffer ? buffer->Used() : 0;
    }
    return bytes;
}

void RoceSwitches::AddCounters(fabric::RoceCounters& counters) const
{
    counters.watchdogDrops = m_bitten;
    for (const auto& buffer : m_buffers)
    {
        if (!buffer)
        {
            continue;
        }
        if (buffer->MaxUsed() > counters.maxBuffer)
        {
            counters.maxBuffer = buffer->MaxUsed();
            counters.bufferBytes = buffer->Size();
        }
        counters.maxHeadroom = std::max(counters.maxHeadroom, buffer->MaxHeadroomShare());
    }
}

} // namespace packet
} // namespace legacy
