/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-capture.h"

#include "base/error.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

namespace
{

constexpr uint32_t kEthernet = 1; //!< LINKTYPE_ETHERNET

void CheckSizes(const std::string& prefix, const fabric::RoceSettings& settings)
{
    const fabric::RoceSettings usual;
    const int tag = settings.vlan ? fabric::RoceSettings::kTagBytes : 0;
    if (settings.headerBytes != usual.headerBytes + tag ||
        settings.messageBytes != usual.messageBytes || settings.ackBytes != usual.ackBytes + tag ||
        settings.cnpBytes != usual.cnpBytes + tag)
    {
        throw Error("pcap prefix",
                    prefix,
                    "nothing beside roce:header= and ack-bytes=, whose frames are not those "
                    "of RoCEv2");
    }
    if (settings.train > 1)
    {
        throw Error("pcap prefix",
                    prefix,
                    "nothing beside roce:train=" + std::to_string(settings.train) +
                        ": a capture has single frames (train=1)");
    }
}

/// Throws Error where telemetry cannot tell the rate of a link.
void CheckRates(const std::string& prefix, const fabric::Topology& topology)
{
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(2 * topology.Links().size());
         ++link)
    {
        fabric::IntRateCode(static_cast<double>(topology.PortOf(link).rateBps),
                            "pcap prefix " + prefix + ": telemetry of " + topology.LinkName(link));
    }
}

/// Returns the carrier, after checks that come before any file is made.
RoceCarrier& Checked(const std::string& prefix,
                     const fabric::Topology& topology,
                     const fabric::RoceSettings& settings,
                     RoceCarrier& carrier)
{
    CheckSizes(prefix, settings);
    if (carrier.HasTelemetry())
    {
        CheckRates(prefix, topology);
    }
    return carrier;
}

} // namespace

RoceCapture::RoceCapture(const std::string& prefix,
                         const fabric::Topology& topology,
                         const fabric::Placement& placement,
                         const fabric::RoceSettings& settings,
                         RoceCarrier& carrier)
    : FrameCapture(prefix,
                   topology,
                   placement,
                   {kEthernet, ns3::PcapFile::SNAPLEN_DEFAULT},
                   Checked(prefix, topology, settings, carrier).GetPorts()),
      m_topology(topology),
      m_carrier(carrier)
{
}

void RoceCapture::OnMade(uint32_t frame, DirectedLink link, Picoseconds /* at */)
{
    m_packets.resize(std::max<std::size_t>(m_packets.size(), frame + 1));
    m_packets[frame] = m_carrier.Describe(frame);
    if (m_packets[frame].kind == FrameKind::Pause)
    {
        m_packets[frame].source = m_topology.From(link);
    }
}

PacketBytes RoceCapture::BytesOf(uint32_t frame, std::size_t& all)
{
    const Frame& seen = Ports().Frames()[frame];
    RocePacket packet = m_packets[frame];
    packet.marked = seen.marks > 0;
    packet.hops = seen.kind == FrameKind::Pause ? 0 : seen.hop;
    if (packet.telemetry && seen.kind == FrameKind::Data && seen.hop > 0)
    {
        const fabric::IntRecord* first = Ports().Frames().RecordsOf(frame);
        packet.records.assign(first, first + seen.hop);
    }
    PacketBytes bytes = MakeRoceBytes(packet);
    all = bytes.size();
    return bytes;
}

} // namespace packet
} // namespace legacy
