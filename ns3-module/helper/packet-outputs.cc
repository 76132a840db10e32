/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "packet-outputs.h"

#include "animation.h"
#include "base/error.h"
#include "model/packet-network.h"

#include "ns3/node-container.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/trace-helper.h"

#ifdef LEGACY_NETANIM_MODULE
#include <dlfcn.h>
#endif
#include <filesystem>
#include <fstream>
#include <set>

namespace legacy
{
namespace packet
{

using namespace ns3;

namespace
{

void CheckWritable(const std::string& option, const std::string& path)
{
    const bool existed = std::filesystem::exists(path);
    const bool plain = !existed || std::filesystem::is_regular_file(path);
    if (!plain || !std::ofstream(path, std::ios::app))
    {
        throw Error(option, path, "a plain file that can be written in a folder that exists");
    }
    if (!existed)
    {
        std::filesystem::remove(path);
    }
}

std::string Number(const std::string& path, int number)
{
    if (path.empty() || number == 1)
    {
        return path;
    }
    const std::filesystem::path whole(path);
    const std::string name =
        whole.stem().string() + "-" + std::to_string(number) + whole.extension().string();
    return (whole.parent_path() / name).string();
}

/// Returns whether a file ends with the given characters and a line feed.
bool EndsWith(const std::string& path, const std::string& end)
{
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file.tellg();
    const auto wanted = static_cast<std::streamoff>(end.size() + 1);
    if (!file || size < wanted)
    {
        return false;
    }
    std::string last(end.size() + 1, '\0');
    file.seekg(size - wanted);
    file.read(last.data(), wanted);
    return file && last == end + "\n";
}

/// Returns Animate from the module legacy_netanim, which is loaded now, or from this library in an
/// ns-3 source tree; null if ns-3 lacks netanim.
Animator FindAnimator()
{
#if defined(LEGACY_NETANIM_MODULE)
    // The module needs most other modules of ns-3, and every program would take three times as long
    // to start if it loaded them.
    static void* const module = dlopen(LEGACY_NETANIM_MODULE, RTLD_NOW | RTLD_LOCAL);
    void* const found = module != nullptr ? dlsym(module, "legacy_animator") : nullptr;
    return found != nullptr ? *static_cast<const Animator*>(found) : nullptr;
#elif defined(LEGACY_NETANIM)
    return &Animate;
#else
    return nullptr;
#endif
}

} // namespace

void CheckOutputs(const fabric::PacketOutputs& outputs)
{
    if (!outputs.pcapPrefix.empty())
    {
        CheckWritable("pcap prefix", outputs.pcapPrefix + ".pcap");
    }
    if (!outputs.flowMonitorXml.empty())
    {
        CheckWritable("FlowMonitor file", outputs.flowMonitorXml);
    }
    if (!outputs.netAnimXml.empty())
    {
        if (FindAnimator() == nullptr)
        {
            throw Error("NetAnim file", outputs.netAnimXml, "none: ns-3 has no module netanim");
        }
        CheckWritable("NetAnim file", outputs.netAnimXml);
    }
}

void NoteLost(const fabric::PacketOutputs& outputs, const std::string& path)
{
    if (outputs.lost->empty())
    {
        *outputs.lost = path;
    }
}

fabric::PacketOutputs NumberOutputs(const fabric::PacketOutputs& outputs, int number)
{
    fabric::PacketOutputs numbered;
    numbered.lost = outputs.lost;
    // A prefix has no extension, even if it contains dots.
    numbered.pcapPrefix = outputs.pcapPrefix;
    if (!outputs.pcapPrefix.empty() && number > 1)
    {
        numbered.pcapPrefix += "-" + std::to_string(number);
    }
    numbered.flowMonitorXml = Number(outputs.flowMonitorXml, number);
    numbered.netAnimXml = Number(outputs.netAnimXml, number);
    return numbered;
}

OutputWriter::OutputWriter(const fabric::PacketOutputs& outputs,
                           Ptr<PacketNetwork> network,
                           const fabric::Topology& topology,
                           const fabric::Placement& placement)
    : m_outputs(outputs)
{
    std::set<int> nodes;
    for (int endpoint = 0; endpoint < placement.Endpoints(); ++endpoint)
    {
        nodes.insert(placement.NodeOf(endpoint));
    }
    NodeContainer ends;
    for (int node : nodes)
    {
        ends.Add(network->GetNode(node));
        if (!m_outputs.pcapPrefix.empty())
        {
            // This does what PointToPointHelper::EnablePcap does, which returns no file whose state
            // could be checked.
            PcapHelper helper;
            for (fabric::DirectedLink link : topology.Out(node))
            {
                const Ptr<NetDevice> device = network->GetDevice(link);
                const std::string name = helper.GetFilenameFromDevice(m_outputs.pcapPrefix, device);
                const auto file = helper.CreateFile(name, std::ios::out, PcapHelper::DLT_PPP);
                helper.HookDefaultSink<PointToPointNetDevice>(
                    DynamicCast<PointToPointNetDevice>(device), "PromiscSniffer", file);
                m_captures.emplace(name, file);
            }
        }
    }
    if (!m_outputs.flowMonitorXml.empty())
    {
        m_flowMonitor.Install(ends);
    }
    if (!m_outputs.netAnimXml.empty())
    {
        m_animation = FindAnimator()(network, topology, m_outputs.netAnimXml);
    }
}

OutputWriter::~OutputWriter()
{
    if (!m_outputs.flowMonitorXml.empty())
    {
        Ptr<FlowMonitor> monitor = m_flowMonitor.GetMonitor();
        monitor->CheckForLostPackets();
        monitor->SerializeToXmlFile(m_outputs.flowMonitorXml, false, false);
        if (!EndsWith(m_outputs.flowMonitorXml, "</FlowMonitor>"))
        {
            NoteLost(m_outputs, m_outputs.flowMonitorXml);
        }
    }
    if (m_animation)
    {
        m_animation.reset(); // this writes its end
        if (!EndsWith(m_outputs.netAnimXml, "</anim>"))
        {
            NoteLost(m_outputs, m_outputs.netAnimXml);
        }
    }
    for (const auto& [name, file] : m_captures)
    {
        file->Close();
        if (file->Fail())
        {
            NoteLost(m_outputs, name);
        }
    }
}

} // namespace packet
} // namespace legacy
