/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_SEGMENT_CAPTURE_H
#define LEGACY_SEGMENT_CAPTURE_H

#include "frame-capture.h"

#include "model/tcp/segment-carrier.h"
#include "model/tcp/segment-packet.h"

#include <string>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Captures the headers of TCP's segments.
 */
class SegmentCapture : public FrameCapture
{
  public:
    /**
     * \param prefix of the names of files
     * \param topology outlives this object
     * \param placement whose nodes are captured
     * \param carrier that lives as long as this object
     */
    SegmentCapture(const std::string& prefix,
                   const fabric::Topology& topology,
                   const fabric::Placement& placement,
                   SegmentCarrier& carrier);

  private:
    // Inherited from FrameCapture.
    void OnMade(uint32_t frame, DirectedLink link, Picoseconds at) override;
    PacketBytes BytesOf(uint32_t frame, std::size_t& all) override;

    SegmentCarrier& m_carrier;
    std::vector<SegmentPacket> m_packets; //!< by frame, as sent by their first port
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_SEGMENT_CAPTURE_H
