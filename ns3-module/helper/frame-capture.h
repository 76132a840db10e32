/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_FRAME_CAPTURE_H
#define LEGACY_FRAME_CAPTURE_H

#include "fabric/topology/placement.h"
#include "fabric/topology/topology.h"
#include "model/frames/packet-bytes.h"
#include "model/roce/roce-network.h"

#include "ns3/pcap-file.h"

#include <map>
#include <memory>
#include <string>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Writes what the ports of the endpoints' nodes send and receive to PREFIX-NODE-PORT.pcap, with the
 * nanosecond in which a port begins to send a frame or has received it. A derived class says what
 * the bytes of a frame are.
 */
class FrameCapture
{
  public:
    virtual ~FrameCapture();
    /**
     * Closes the files.
     * \return the first file that was not written completely; empty: none
     */
    std::string Close();

  protected:
    /// The type of a file's packets, and the bytes of a packet that it keeps.
    struct Format
    {
        uint32_t link;
        uint32_t most;
    };

    /**
     * \param prefix of the names of files
     * \param topology outlives this object
     * \param placement whose nodes are captured
     * \param format of the files
     * \param ports that live as long as this object
     */
    FrameCapture(const std::string& prefix,
                 const fabric::Topology& topology,
                 const fabric::Placement& placement,
                 const Format& format,
                 RoceNetwork& ports);

    RoceNetwork& Ports() const
    {
        return m_ports;
    }

  private:
    /// Is told that the first port of a frame's way begins to send it.
    virtual void OnMade(uint32_t frame, DirectedLink link, Picoseconds at) = 0;
    /// Returns the frame's bytes as they are now; `all` becomes their number, of which the last
    /// may be left out.
    virtual PacketBytes BytesOf(uint32_t frame, std::size_t& all) = 0;
    void OnFrame(DirectedLink link, uint32_t frame, Picoseconds at, bool arrives);

    RoceNetwork& m_ports;
    std::map<DirectedLink, std::unique_ptr<ns3::PcapFile>> m_files; //!< by the port's own direction
    std::map<DirectedLink, std::string> m_names;                    //!< their names
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_FRAME_CAPTURE_H
