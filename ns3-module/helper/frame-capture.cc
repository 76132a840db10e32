/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "frame-capture.h"

#include "base/error.h"

#include <set>

namespace legacy
{
namespace packet
{

FrameCapture::FrameCapture(const std::string& prefix,
                           const fabric::Topology& topology,
                           const fabric::Placement& placement,
                           const Format& format,
                           RoceNetwork& ports)
    : m_ports(ports)
{
    std::set<int> nodes;
    for (int endpoint = 0; endpoint < placement.Endpoints(); ++endpoint)
    {
        nodes.insert(placement.NodeOf(endpoint));
    }
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
            file->Init(format.link, format.most, 0, false, true);
            m_names.emplace(link, path);
            m_files.emplace(link, std::move(file));
        }
    }
    m_ports.SetTap([this](DirectedLink link, uint32_t frame, Picoseconds at, bool arrives)
                   { OnFrame(link, frame, at, arrives); });
}

FrameCapture::~FrameCapture()
{
    m_ports.SetTap(nullptr);
}

std::string FrameCapture::Close()
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

void FrameCapture::OnFrame(DirectedLink link, uint32_t frame, Picoseconds at, bool arrives)
{
    if (!arrives && m_ports.Frames()[frame].hop == 0)
    {
        OnMade(frame, link, at);
    }
    const auto file = m_files.find(arrives ? link ^ 1 : link);
    if (file == m_files.end())
    {
        return;
    }
    std::size_t all = 0;
    const PacketBytes bytes = BytesOf(frame, all);
    constexpr Picoseconds kPerSecond = 1'000'000'000'000;
    file->second->Write(static_cast<uint32_t>(at / kPerSecond),
                        static_cast<uint32_t>(at % kPerSecond / fabric::kPicosecondsPerNs),
                        bytes.data(),
                        static_cast<uint32_t>(all));
}

} // namespace packet
} // namespace legacy
