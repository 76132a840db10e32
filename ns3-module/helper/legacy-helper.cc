/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "legacy-helper.h"

#include "carriers.h"

#include "base/error.h"
#include "model/packet-network.h"

#include "ns3/point-to-point-helper.h"

namespace legacy
{
namespace packet
{

namespace
{

/// Throws Error if the engine's packets are no packets of ns-3.
void CheckNetwork(const ns3::Ptr<PacketEngine>& engine)
{
    if (!engine->GetNetwork())
    {
        throw Error::Refusal("pcap files and flow monitors of ns-3 need its devices: a transport "
                             "that begins with ns3:, as ns3:datacenter");
    }
}

} // namespace

LegacyHelper::LegacyHelper(const fabric::Transport& transport, uint64_t seed, uint64_t run)
    : m_transport(transport),
      m_seed(seed),
      m_scope(transport, seed, run)
{
}

ns3::Ptr<PacketEngine> LegacyHelper::Install(const fabric::Topology* topology,
                                             const fabric::Placement* placement) const
{
    ns3::Ptr<PacketEngine> engine = ns3::CreateObject<PacketEngine>();
    engine->Build(
        topology, placement, m_transport, CarrierFor(topology, placement, m_transport, m_seed));
    return engine;
}

void LegacyHelper::EnablePcap(const std::string& prefix,
                              ns3::Ptr<PacketEngine> engine,
                              const fabric::Topology& topology,
                              int node) const
{
    CheckNetwork(engine);
    ns3::PointToPointHelper pointToPoint;
    for (fabric::DirectedLink link : topology.Out(node))
    {
        pointToPoint.EnablePcap(prefix, engine->GetNetwork()->GetDevice(link));
    }
}

ns3::Ptr<ns3::FlowMonitor> LegacyHelper::InstallFlowMonitor(ns3::Ptr<PacketEngine> engine,
                                                            const fabric::Topology& topology)
{
    CheckNetwork(engine);
    ns3::NodeContainer hosts;
    for (int host : topology.Hosts())
    {
        hosts.Add(engine->GetNetwork()->GetNode(host));
    }
    return m_flowMonitor.Install(hosts);
}

} // namespace packet
} // namespace legacy
