/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tcp-trains.h"

#include "base/error.h"

#include <algorithm>
#include <string>

namespace legacy
{
namespace packet
{

void TcpTrains::Check(const fabric::Topology& topology, const fabric::Transport& transport)
{
    if (transport.train == 1)
    {
        return;
    }
    const auto refuse = [&](const std::string& why)
    { throw Error("train", std::to_string(transport.train), "1 beside " + why); };
    if (topology.HasSchedules())
    {
        refuse("links whose rates change over time");
    }
    if (topology.GetMultipath() == fabric::Multipath::Spray)
    {
        refuse("multipath=spray, where each segment has a path of its own");
    }
    if (!transport.attributes.empty())
    {
        refuse(transport.attributes.begin()->first +
               ": a NIC with one queue takes single segments");
    }
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(2 * topology.Links().size());
         ++link)
    {
        if (topology.PortOf(link).errorRate > 0)
        {
            refuse(topology.LinkName(link) + ", which loses single segments");
        }
        if (topology.PortOf(link).burstBytes > 0)
        {
            refuse(topology.LinkName(link) + ", whose token bucket passes single segments");
        }
    }
}

std::unique_ptr<TcpTrain> TcpTrains::Make(const fabric::Topology& topology,
                                          const fabric::Transport& transport,
                                          const std::vector<DirectedLink>& forth)
{
    if (transport.train == 1)
    {
        return nullptr;
    }
    auto train = std::make_unique<TcpTrain>();
    for (const DirectedLink link : forth)
    {
        const Picoseconds time = __int128{8} * transport.FrameBytes() *
                                 fabric::kPicosecondsPerSecond / topology.PortOf(link).rateBps;
        train->speedsUp = train->speedsUp || time < train->slowest;
        train->slowest = std::max(train->slowest, time);
        train->quiet += time + ToPicoseconds(topology.LinkOf(link).delay);
        if (!topology.IsHost(topology.To(link)))
        {
            train->quiet += ToPicoseconds(transport.switchDelay);
        }
    }
    // Beyond that, a train may wait for itself before a faster link, and for half a train of ACKs.
    train->quiet += 3 * transport.train * train->slowest / 2;
    return train;
}

uint64_t TcpTrains::LeftOf(const TcpConnection& connection, uint64_t& all) const
{
    uint32_t low = 0;
    for (uint32_t left = connection.messages.size(); left > 0;)
    {
        const uint32_t half = left / 2;
        const bool sent = connection.messages[low + half].end <= connection.next;
        low += sent ? half + 1 : 0;
        left = sent ? left - half - 1 : half;
    }
    if (low == connection.messages.size())
    {
        return 0;
    }
    const auto bytes = static_cast<uint64_t>(m_transport.segmentBytes);
    const TcpConnection::Message& message = connection.messages[low];
    all = static_cast<uint64_t>(message.flow.bytes) / bytes;
    // The last segment of a message may have bytes of the next one.
    return std::min((message.end - connection.next + bytes - 1) / bytes,
                    (connection.queued - connection.next) / bytes);
}

bool TcpTrains::IsPaced(const TcpConnection& connection) const
{
    constexpr double kLine = 0.7; // BBR drains what it has queued at 3 in 4 of the rate
    const double pace = connection.control->Pace(connection.window);
    const double line = static_cast<double>(m_network.RateOf(connection.way.First())) /
                        (8 * static_cast<double>(m_transport.FrameBytes()));
    return pace > 0 && pace < kLine * line;
}

uint32_t TcpTrains::Longest(const TcpConnection& connection, bool alone) const
{
    const TcpTrain& train = *connection.train;
    if (!alone || connection.segments.empty() || connection.phase != TcpPhase::Open ||
        connection.lost > 0 || connection.sacked > 0 || connection.probeNow ||
        connection.acked < train.from || IsPaced(connection))
    {
        return 1;
    }
    const uint32_t window = connection.window.segments;
    const uint32_t out = connection.InFlight();
    const uint32_t used = std::max(out, connection.mostUsed);
    // Window of a connection that waits for ACKs: a train of 1 in 100 adds as much to its time.
    constexpr uint64_t kParts = 100;
    uint64_t most = std::max<uint64_t>(window > used ? window - used : 0, window / kParts);
    most = std::min<uint64_t>(most, window > out ? window - out : 0);
    uint64_t all = 0;
    most = std::min(most, LeftOf(connection, all));
    if (train.speedsUp)
    {
        most = std::min(most, all / kParts); // it waits for itself before the faster link
    }
    return static_cast<uint32_t>(
        std::clamp<uint64_t>(most, 1, static_cast<uint64_t>(m_transport.train)));
}

bool TcpTrains::MayAdd(const TcpConnection& connection) const
{
    const auto end = connection.next + static_cast<uint64_t>(m_transport.segmentBytes);
    return connection.paceAt <= RoceNow() &&
           end <= connection.acked + static_cast<uint64_t>(connection.buffer);
}

void TcpTrains::Restart(TcpConnection& connection) const
{
    constexpr uint64_t kTrains = 2;
    connection.train->from = connection.next + kTrains * static_cast<uint64_t>(m_transport.train) *
                                                   static_cast<uint64_t>(m_transport.segmentBytes);
}

void TcpTrains::NoteStall(TcpConnection& connection, Picoseconds at) const
{
    // The window of a connection whose last train has not left yet may be full without any effect.
    const Picoseconds time =
        m_network.SerialisationOf(connection.way.First(), m_transport.FrameBytes());
    if (connection.acked < connection.train->end &&
        connection.InFlight() >= connection.window.segments && connection.lastSent + time < at)
    {
        connection.limited = true;
        connection.mostUsed = connection.segments.size();
        connection.usageEnd = connection.next;
    }
}

uint32_t TcpTrains::Early(const TcpConnection& connection, Picoseconds at)
{
    uint32_t early = 0;
    while (early < connection.segments.size() &&
           connection.segments[early].sent + connection.latestRoundTrip <= at)
    {
        ++early;
    }
    return early;
}

} // namespace packet
} // namespace legacy
