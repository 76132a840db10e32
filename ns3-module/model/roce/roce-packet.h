/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_PACKET_H
#define LEGACY_ROCE_PACKET_H

#include "fabric/roce/telemetry.h"
#include "frame.h"

#include <cstdint>
#include <vector>

namespace legacy
{
namespace packet
{

/// A RocePacket says what stands in the packet of a frame.
struct RocePacket
{
    FrameKind kind{FrameKind::Data};
    int source{0};           //!< node that made it
    int destination{0};      //!< node for which it is; not of a pause
    uint32_t pair{0};        //!< queue pair
    uint64_t psn{0};         //!< data: its number; ACK, NAK: all below have arrived
    int64_t payload{0};      //!< data: bytes
    bool first{false};       //!< of its message
    bool last{false};        //!< of its message
    bool wantsAck{false};    //!< the receiver answers it
    bool marked{false};      //!< congestion experienced
    int64_t messageBytes{0}; //!< of the message of a first frame
    uint64_t messages{0};    //!< ACK, NAK: messages that have arrived whole
    int hops{0};             //!< switches that it has passed
    int priority{0};         //!< of its class, or of the class that a pause is for
    bool vlan{false};        //!< it has a tag of IEEE 802.1Q with its priority; not a pause
    int quanta{0};           //!< of a pause
    bool telemetry{false};   //!< it has INT (HPCC): a header and `records`
    std::vector<fabric::IntRecord> records;
};

/**
 * Makes the Ethernet frame of a packet, from the destination's address to the ICRC: RoCEv2
 * (InfiniBand Architecture 1.4, annex A17) over UDP (RFC 768) and IPv4 (RFC 791), or a MAC control
 * frame of PFC (IEEE 802.3, annex 31D). Payloads are zeros. Telemetry follows the headers of
 * InfiniBand, so that they are where readers look for them. UDP has no checksum, as annex A17
 * allows.
 *
 * \param packet what stands in it
 * \return its bytes; the ICRC holds
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
