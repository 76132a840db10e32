/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_CAPTURE_H
#define LEGACY_ROCE_CAPTURE_H

#include "fabric/roce/roce-settings.h"
#include "fabric/topology/placement.h"
#include "fabric/topology/topology.h"
#include "model/roce/roce-carrier.h"
#include "model/roce/roce-packet.h"

#include "ns3/pcap-file.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Writes what the ports of the endpoints' nodes send and receive to PREFIX-NODE-PORT.pcap: whole
 * frames, with the nanosecond in which a port begins to send them or has received them.
 */
class RoceCapture
{
  public:
    /**
     * \param prefix of the names of files
     * \param topology outlives this object
     * \param placement whose nodes are captured
     * \param settings of the frames
     * \param carrier that lives as long as this object
     * Throws Error where frames have other lengths than those of RoCEv2.
     */
    RoceCapture(const std::string& prefix,
                const fabric::Topology& topology,
                const fabric::Placement& placement,
                const fabric::RoceSettings& settings,
                RoceCarrier& carrier);
    ~RoceCapture();
    /**
     * Closes the files.
     * \return the first file that was not written completely; empty: none
     */
    std::string Close();

  private:
    void OnFrame(DirectedLink link, uint32_t frame, Picoseconds at, bool arrives);

    const fabric::Topology& m_topology;
    RoceCarrier& m_carrier;
    std::map<DirectedLink, std::unique_ptr<ns3::PcapFile>> m_files; //!< by the port's own direction
    std::map<DirectedLink, std::string> m_names;                    //!< their names
    std::vector<RocePacket> m_packets; //!< by frame, as sent by their first port
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_CAPTURE_H
