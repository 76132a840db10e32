/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "segment-capture.h"

#include "base/error.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

namespace
{

constexpr uint32_t kPpp = 9;         //!< LINKTYPE_PPP
constexpr uint32_t kMostBytes = 128; //!< the headers with all options, and zeros

/// Returns the prefix, after a check that comes before any file is made.
const std::string& Checked(const std::string& prefix, const SegmentCarrier& carrier)
{
    if (carrier.GetTransport().train > 1)
    {
        throw Error("pcap prefix",
                    prefix,
                    "nothing beside train=" + std::to_string(carrier.GetTransport().train) +
                        ": a capture has single segments (train=1)");
    }
    return prefix;
}

} // namespace

SegmentCapture::SegmentCapture(const std::string& prefix,
                               const fabric::Topology& topology,
                               const fabric::Placement& placement,
                               SegmentCarrier& carrier)
    : FrameCapture(Checked(prefix, carrier),
                   topology,
                   placement,
                   {kPpp, kMostBytes},
                   carrier.GetPorts()),
      m_carrier(carrier)
{
}

void SegmentCapture::OnMade(uint32_t frame, DirectedLink /* link */, Picoseconds at)
{
    m_packets.resize(std::max<std::size_t>(m_packets.size(), frame + 1));
    m_packets[frame] = m_carrier.Describe(frame);
    m_packets[frame].at = at / fabric::kPicosecondsPerNs;
}

PacketBytes SegmentCapture::BytesOf(uint32_t frame, std::size_t& all)
{
    SegmentPacket packet = m_packets[frame];
    const Frame& seen = Ports().Frames()[frame];
    packet.marked = packet.data && seen.marks > 0;
    packet.hops = seen.hop;
    PacketBytes bytes = MakeSegmentHeaders(packet);
    all = bytes.size() + static_cast<std::size_t>(packet.payload);
    bytes.resize(std::min<std::size_t>(all, kMostBytes));
    return bytes;
}

} // namespace packet
} // namespace legacy
