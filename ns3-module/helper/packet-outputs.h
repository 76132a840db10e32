/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_PACKET_OUTPUTS_H
#define LEGACY_PACKET_OUTPUTS_H

#include "fabric/topology/placement.h"
#include "fabric/topology/topology.h"
#include "packet-engine-helper.h"

#include "ns3/flow-monitor-helper.h"
#include "ns3/pcap-file-wrapper.h"
#include "ns3/ptr.h"

#include <map>
#include <memory>
#include <string>

namespace legacy
{
namespace packet
{

class PacketNetwork;

/**
 * Throws Error that names the option and the path if a file of `outputs` cannot be written, or if
 * ns-3 lacks the module that writes it. Leaves no file behind.
 */
void CheckOutputs(const fabric::PacketOutputs& outputs);

/**
 * Notes that a file was not written completely. Only the first such file is kept.
 * \param outputs requested files
 * \param path the file
 */
void NoteLost(const fabric::PacketOutputs& outputs, const std::string& path);

/**
 * \param outputs requested files
 * \param number of the engine that writes them; the first is 1
 * \return the names of its files: as requested, or with -2, -3, ... before the extension
 */
fabric::PacketOutputs NumberOutputs(const fabric::PacketOutputs& outputs, int number);

/**
 * \ingroup legacy
 * Writes ns-3's own records of one simulation: pcap, FlowMonitor, NetAnim. The files are complete
 * when this object is destroyed, which notes those that are not.
 */
class OutputWriter
{
  public:
    /**
     * \param outputs files that were checked
     * \param network that was just built, and has sent nothing yet
     * \param topology of the network
     * \param placement whose endpoints are watched
     */
    OutputWriter(const fabric::PacketOutputs& outputs,
                 ns3::Ptr<PacketNetwork> network,
                 const fabric::Topology& topology,
                 const fabric::Placement& placement);
    ~OutputWriter();
    OutputWriter(const OutputWriter&) = delete;
    OutputWriter& operator=(const OutputWriter&) = delete;

  private:
    fabric::PacketOutputs m_outputs;                                  //!< names
    ns3::FlowMonitorHelper m_flowMonitor;                             //!< owns the monitor
    std::shared_ptr<void> m_animation;                                //!< null: none
    std::map<std::string, ns3::Ptr<ns3::PcapFileWrapper>> m_captures; //!< by name
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_PACKET_OUTPUTS_H
