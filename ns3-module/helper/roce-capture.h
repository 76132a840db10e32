/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_CAPTURE_H
#define LEGACY_ROCE_CAPTURE_H

#include "frame-capture.h"

#include "fabric/roce/roce-settings.h"
#include "model/roce/roce-carrier.h"
#include "model/roce/roce-packet.h"

#include <string>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Captures whole frames of RoCEv2.
 */
class RoceCapture : public FrameCapture
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

  private:
    // Inherited from FrameCapture.
    void OnMade(uint32_t frame, DirectedLink link, Picoseconds at) override;
    PacketBytes BytesOf(uint32_t frame, std::size_t& all) override;

    const fabric::Topology& m_topology;
    RoceCarrier& m_carrier;
    std::vector<RocePacket> m_packets; //!< by frame, as sent by their first port
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_CAPTURE_H
