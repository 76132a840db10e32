/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_PACKET_H
#define LEGACY_ROCE_PACKET_H

#include "fabric/roce/telemetry.h"
#include "model/frames/frame.h"

#include <cstdint>
#include <vector>

namespace legacy
{
namespace packet
{

/// A RocePacket has the content of a frame's packet.
struct RocePacket
{
    FrameKind kind{FrameKind::Data};
    int source{0};           //!< node that made it
    int destination{0};      //!< node that it is for; not set for a pause
    uint32_t pair{0};        //!< queue pair
    uint64_t psn{0};         //!< data: its number; ACK, NAK: all below have arrived
    int64_t payload{0};      //!< data: bytes
    bool first{false};       //!< data: it is the first frame of its message
    bool last{false};        //!< data: it is the last frame of its message
    bool wantsAck{false};    //!< the receiver answers it
    bool marked{false};      //!< congestion experienced
    int64_t messageBytes{0}; //!< first frame: bytes of its message
    uint64_t messages{0};    //!< ACK, NAK: number of messages that have arrived completely
    int hops{0};             //!< switches that it has passed
    int priority{0};         //!< priority of its class, or of the class that a pause is for
    bool vlan{false};        //!< it has a tag of IEEE 802.1Q with its priority; not a pause
    int quanta{0};           //!< a pause: its quanta
    bool telemetry{false};   //!< it has INT (HPCC): a header and `records`
    std::vector<fabric::IntRecord> records;
};

/**
 * Makes the Ethernet frame of a packet, from the destination's address to the ICRC: RoCEv2
 * (InfiniBand Architecture 1.4, annex A17) over UDP (RFC 768) and IPv4 (RFC 791), or a MAC control
 * frame of PFC (IEEE 802.3, annex 31D). Payloads are zeros. Telemetry follows the InfiniBand
 * headers, so that these are where readers look for them. UDP has no checksum, as annex A17 allows.
 *
 * \param packet its content
 * \return its bytes, with a correct ICRC
 */
std::vector<uint8_t> MakeRoceBytes(const RocePacket& packet);

/**
 * \param frame an Ethernet frame of RoCEv2, from the destination's address to the ICRC
 * \return the ICRC that it should end with (InfiniBand Architecture 1.4, 7.8.1, annex A17.3.3),
 * as four bytes in the order of the wire
 */
std::vector<uint8_t> RoceIcrc(const std::vector<uint8_t>& frame);

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_PACKET_H
