/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-capture.h"

#include "base/error.h"

#include <algorithm>
#include <set>

namespace legacy
{
namespace packet
{

namespace
{

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
}

} // namespace

RoceCapture::RoceCapture(const std::string& prefix,
                         const fabric::Topology& topology,
                         const fabric::Placement& placement,
                         const fabric::RoceSettings& settings,
                         RoceCarrier& carrier)
    : m_topology(topology),
      m_carrier(carrier)
{
    CheckSizes(prefix, settings);
    if (settings.train > 1)
    {
        throw Error("pcap prefix",
                    prefix,
                    "nothing beside roce:train=" + std::to_string(settings.train) +
                        ": a capture has single frames (train=1)");
    }
    if (carrier.HasTelemetry())
    {
        for (DirectedLink link = 0; link < static_cast<DirectedLink>(2 * topology.Links().size());
             ++link)
        {
            fabric::IntRateCode(static_cast<double>(topology.PortOf(link).rateBps),
                                "pcap prefix " + prefix + ": telemetry of " +
                                    topology.LinkName(link));
        }
    }
    std::set<int> nodes;
    for (int endpoint = 0; endpoint < placement.Endpoints(); ++endpoint)
    {
        nodes.insert(placement.NodeOf(endpoint));
    }
    constexpr uint32_t kEthernet = 1; // LINKTYPE_ETHERNET
    for (const int node : nodes)
    {
        int port = 0;
        for (const DirectedLink link : topology.Out(node))
        {
            auto file = std::make_unique<ns3::PcapFile>();
            const std::string path =
                prefix + "-" + std::to_string(node) + "-" + std::to_string(++port) + ".pcap";
            file->Open(path, std::ios::out | std::ios::binary);
            if (file->Fail())
            {
                throw Error("pcap prefix", path, "a file that can be written");
            }
            file->Init(kEthernet, ns3::PcapFile::SNAPLEN_DEFAULT, 0, false, true);
            m_names.emplace(link, path);
            m_files.emplace(link, std::move(file));
        }
    }
    carrier.GetPorts().SetTap(
        [this](DirectedLink link, uint32_t frame, Picoseconds at, bool arrives)
        { OnFrame(link, frame, at, arrives); });
}

RoceCapture::~RoceCapture()
{
    m_carrier.GetPorts().SetTap(nullptr);
}

std::string RoceCapture::Close()
{
    std::string lost;
    for (const auto& [link, file] : m_files)
    {
        file->Close();
        if (file->Fail() && lost.empty())
        {
            lost = m_names.at(link);
        }
    }
    return lost;
}

void RoceCapture::OnFrame(DirectedLink link, uint32_t frame, Picoseconds at, bool arrives)
{
    const Frame& seen = m_carrier.GetPorts().Frames()[frame];
    const bool pause = seen.kind == FrameKind::Pause;
    if (!arrives && seen.hop == 0)
    {
        m_packets.resize(std::max<std::size_t>(m_packets.size(), frame + 1));
        m_packets[frame] = m_carrier.Describe(frame);
        m_packets[frame].source = pause ? m_topology.From(link) : m_packets[frame].source;
    }
    const auto file = m_files.find(arrives ? link ^ 1 : link);
    if (file == m_files.end())
    {
        return;
    }
    RocePacket packet = m_packets[frame];
    packet.marked = seen.marks > 0;
    packet.hops = pause ? 0 : seen.hop;
    if (packet.telemetry && seen.kind == FrameKind::Data && seen.hop > 0)
    {
        const fabric::IntRecord* first = m_carrier.GetPorts().Frames().RecordsOf(frame);
        packet.records.assign(first, first + seen.hop);
    }
    const std::vector<uint8_t> bytes = MakeRoceBytes(packet);
    constexpr Picoseconds kPerSecond = 1'000'000'000'000;
    file->second->Write(static_cast<uint32_t>(at / kPerSecond),
                        static_cast<uint32_t>(at % kPerSecond / fabric::kPicosecondsPerNs),
                        bytes.data(),
                        static_cast<uint32_t>(bytes.size()));
}

} // namespace packet
} // namespace legacy
