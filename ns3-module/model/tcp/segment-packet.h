/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_SEGMENT_PACKET_H
#define LEGACY_SEGMENT_PACKET_H

#include "model/frames/packet-bytes.h"
#include "tcp-connection.h"

#include <vector>

namespace legacy
{
namespace packet
{

/// A SegmentPacket has the content of a frame's TCP segment.
struct SegmentPacket
{
    int source{0};      //!< node that made it
    int destination{0}; //!< node that it is for
    uint32_t connection{0};
    bool data{false};             //!< it goes from the connection's sender to the receiver
    bool syn{false};              //!< it opens the connection, or answers what does
    uint64_t first{0};            //!< data: its first byte in the stream
    uint64_t arrived{0};          //!< ACK: all bytes below have arrived
    int64_t payload{0};           //!< bytes of data
    int64_t window{0};            //!< bytes that its sender takes
    int64_t largest{0};           //!< SYN: bytes of the largest segment, without options
    TimeNs at{0};                 //!< time of its own send
    TimeNs answers{0};            //!< ACK: time at which the segment that it answers was sent
    bool capable{false};          //!< ECN is in use
    bool marked{false};           //!< congestion experienced
    bool echoes{false};           //!< ACK: segments were marked (ECE)
    bool reduced{false};          //!< data: the window was reduced (CWR)
    int hops{0};                  //!< switches that it has passed
    std::vector<TcpRange> ranges; //!< ACK: what has arrived beyond (SACK)
};

/// The bytes of SACK's ranges in an ACK (RFC 2018), with the padding that Linux gives them.
constexpr int32_t SackBytes(std::size_t ranges)
{
    return ranges > 0 ? static_cast<int32_t>(4 + 8 * ranges) : 0;
}

/// The bytes of options that only the first segments of both ends have: the largest segment, SACK,
/// and the scale of windows, as Linux orders them.
constexpr int32_t kSynOptionBytes = 8;

/**
 * Makes the headers of a segment: PPP (RFC 1661), IPv4 (RFC 791) and TCP (RFC 9293) with
 * timestamps and window scale (RFC 7323), SACK (RFC 2018) and ECN (RFC 3168). The payload, which is
 * zeros, counts in checksums and lengths.
 *
 * \param packet its content
 * \return the bytes before the payload
 */
PacketBytes MakeSegmentHeaders(const SegmentPacket& packet);

} // namespace packet
} // namespace legacy

#endif // LEGACY_SEGMENT_PACKET_H
