/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_PACKET_BYTES_H
#define LEGACY_PACKET_BYTES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace legacy
{
namespace packet
{

/// The bytes of a packet, in the order of the wire.
using PacketBytes = std::vector<uint8_t>;

constexpr uint64_t kHostNetwork = 10 << 24; //!< 10.0.0.0/8, in which node n has the address n + 1
constexpr std::size_t kIpBytes = 20;        //!< bytes of an IPv4 header

/// Appends a number as `bytes` bytes, the highest first.
inline void Put(PacketBytes& to, uint64_t value, int bytes)
{
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    {
        to.push_back(static_cast<uint8_t>(value >> shift));
    }
}

/// Writes a number of 16 bits over the bytes at `at`.
inline void Set16(PacketBytes& bytes, std::size_t at, uint16_t value)
{
    bytes[at] = static_cast<uint8_t>(value >> 8);
    bytes[at + 1] = static_cast<uint8_t>(value);
}

/// Returns the checksum of RFC 1071 over the bytes from `begin` to `end`, to whose sum `sum` is
/// added.
inline uint16_t
InternetChecksum(const PacketBytes& bytes, std::size_t begin, std::size_t end, uint32_t sum = 0)
{
    for (std::size_t i = begin; i < end; i += 2)
    {
        sum += static_cast<uint32_t>(bytes[i]) << 8 | (i + 1 < end ? bytes[i + 1] : 0);
    }
    while (sum > 0xffff)
    {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return static_cast<uint16_t>(~sum);
}

/// An IpHeader has the fields of an IPv4 header that differ between packets.
struct IpHeader
{
    uint64_t service{0};  //!< class of service and ECN
    std::size_t bytes{0}; //!< bytes of the packet after the header
    int hops{0};          //!< routers that it has passed
    uint64_t protocol{0};
    int source{0};
    int destination{0};
};

/// Appends an IPv4 header (RFC 791) without options, whose packet must not be fragmented.
inline void PutIp(PacketBytes& to, const IpHeader& header)
{
    constexpr uint64_t kTimeToLive = 64;
    const std::size_t begin = to.size();
    Put(to, 0x45, 1);
    Put(to, header.service, 1);
    Put(to, kIpBytes + header.bytes, 2);
    Put(to, 0, 2);
    Put(to, 0x4000, 2);
    Put(to, kTimeToLive - static_cast<uint64_t>(header.hops), 1);
    Put(to, header.protocol, 1);
    Put(to, 0, 2); // the checksum is computed below
    Put(to, kHostNetwork + static_cast<uint64_t>(header.source) + 1, 4);
    Put(to, kHostNetwork + static_cast<uint64_t>(header.destination) + 1, 4);
    Set16(to, begin + 10, InternetChecksum(to, begin, to.size()));
}

} // namespace packet
} // namespace legacy

#endif // LEGACY_PACKET_BYTES_H
