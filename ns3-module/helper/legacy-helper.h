/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_HELPER_H
#define LEGACY_HELPER_H

#include "model/packet-engine.h"
#include "simulation-scope.h"

#include "ns3/flow-monitor-helper.h"

#include <string>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Sets up a PacketEngine inside the user's own ns-3 program, which runs and destroys the simulator.
 *
 * Connections are opened while the simulator runs, and read ns-3's attribute defaults at that time.
 * Therefore keep the helper until the simulation is over; it restores the defaults then.
 */
class LegacyHelper
{
  public:
    /**
     * \param transport preset and attributes of everything that this helper installs
     * \param seed random seed
     * \param run random run
     */
    explicit LegacyHelper(const fabric::Transport& transport, uint64_t seed = 1, uint64_t run = 0);

    /**
     * \param topology outlives the engine
     * \param placement outlives the engine
     * \return an engine over new nodes and links
     */
    ns3::Ptr<PacketEngine> Install(const fabric::Topology* topology,
                                   const fabric::Placement* placement) const;

    /**
     * Writes one pcap file for each port of a node. Throws Error unless packets are those of ns-3.
     * \param prefix start of the files' names
     * \param engine that was installed
     * \param topology its topology
     * \param node its number in the topology
     */
    void EnablePcap(const std::string& prefix,
                    ns3::Ptr<PacketEngine> engine,
                    const fabric::Topology& topology,
                    int node) const;
    /**
     * \param engine that was installed
     * \param topology its topology
     * \return a monitor of all hosts' TCP flows, which the helper keeps. Throws Error unless
     * packets are those of ns-3.
     */
    ns3::Ptr<ns3::FlowMonitor> InstallFlowMonitor(ns3::Ptr<PacketEngine> engine,
                                                  const fabric::Topology& topology);

  private:
    fabric::Transport m_transport;        //!< transport of all engines
    uint64_t m_seed;                      //!< seed of all engines
    SimulationScope m_scope;              //!< ns-3's defaults, while the helper lives
    ns3::FlowMonitorHelper m_flowMonitor; //!< owns the monitor
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_HELPER_H
