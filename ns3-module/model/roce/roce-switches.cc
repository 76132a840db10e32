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

bool RoceSwitches::IsOverLimit(const RocePort& port,
                               const fabric::SharedBuffer& buffer,
                               int64_t bytes) const
{
    const int64_t waiting = port.QueueOf(RoceClass::Data).bytes + bytes;
    return waiting > buffer.Threshold(m_settings->egressAlpha) ||
           (port.queueLimit > 0 && waiting > port.queueLimit);
}

RoceSwitches::Admission RoceSwitches::Admit(DirectedLink link, DirectedLink out, uint32_t frame)
{
    Frame& arrived = m_frames[frame];
    const int64_t bytes = m_frames.InBuffer(arrived);
    const RoceClass of = ClassOf(arrived);
    const bool data = of == RoceClass::Data;
    const RocePort& to = m_ports[out];
    fabric::SharedBuffer& buffer = *m_buffers[m_topology->To(link)];
    if (data && to.pause.IsDropping())
    {
        Bite(out, frame);
        return Admission::Dropped;
    }
    if (data && !m_settings->pfc && IsOverLimit(to, buffer, bytes))
    {
        Drop(out, frame, false);
        return Admission::Dropped;
    }
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

void RoceSwitches::MarkWaiting(DirectedLink out, uint32_t frame)
{
    const Frame& arrived = m_frames[frame];
    const int64_t bytes = m_frames.InBuffer(arrived);
    const int64_t each = bytes / arrived.frames;
    Mark(out, frame, m_ports[out].QueueOf(ClassOf(arrived)).bytes + bytes, -each);
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
