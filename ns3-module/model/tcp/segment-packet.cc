/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "segment-packet.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

namespace
{

constexpr uint64_t kTcp = 6;
constexpr int kWindowScale = 14; //!< the largest: windows of 1 GiB (RFC 7323, section 2.3)
constexpr uint64_t kNothing = 1; //!< an option that fills a byte

enum Flag : uint64_t
{
    kSyn = 0x02,
    kAck = 0x10,
    kEce = 0x40,
    kCwr = 0x80,
};

uint64_t Milliseconds(TimeNs time)
{
    constexpr TimeNs kMillisecond = 1'000'000;
    return static_cast<uint64_t>(time / kMillisecond);
}

PacketBytes MakeOptions(const SegmentPacket& packet)
{
    PacketBytes options;
    if (packet.syn)
    {
        Put(options, 0x0204, 2);
        Put(options, static_cast<uint64_t>(packet.largest), 2);
        Put(options, 0x0402, 2); // SACK is permitted
    }
    else
    {
        Put(options, kNothing, 1);
        Put(options, kNothing, 1);
    }
    Put(options, 0x080a, 2);
    Put(options, Milliseconds(packet.at), 4);
    Put(options, packet.data ? 0 : Milliseconds(packet.answers), 4);
    if (packet.syn)
    {
        Put(options, kNothing, 1);
        Put(options, 0x0303, 2);
        Put(options, kWindowScale, 1);
    }
    if (!packet.ranges.empty())
    {
        Put(options, kNothing, 1);
        Put(options, kNothing, 1);
        Put(options, 5, 1);
        Put(options, 2 + 8 * packet.ranges.size(), 1);
        for (const TcpRange& range : packet.ranges)
        {
            Put(options, range.begin + 1, 4);
            Put(options, range.end + 1, 4);
        }
    }
    return options;
}

/// Returns the flags. A SYN asks for ECN by both, and what answers it grants ECN by one.
uint64_t FlagsOf(const SegmentPacket& packet)
{
    uint64_t flags = packet.syn && packet.data ? 0 : kAck;
    if (packet.syn)
    {
        flags |= kSyn;
        flags |= packet.capable ? (packet.data ? kEce | kCwr : kEce) : 0;
    }
    flags |= packet.echoes ? kEce : 0;
    flags |= packet.reduced ? kCwr : 0;
    return flags;
}

} // namespace

PacketBytes MakeSegmentHeaders(const SegmentPacket& packet)
{
    constexpr uint64_t kPppIpv4 = 0x0021;
    constexpr uint64_t kServicePort = 5001;
    constexpr uint64_t kFirstPort = 0xc000; // of those that are not registered
    constexpr uint64_t kPorts = 0x4000;
    constexpr std::size_t kFixedBytes = 20;
    constexpr uint64_t kMostWindow = 0xffff;
    const PacketBytes options = MakeOptions(packet);
    const std::size_t tcp = kFixedBytes + options.size();
    const std::size_t all = tcp + static_cast<std::size_t>(packet.payload);
    const uint64_t window = static_cast<uint64_t>(packet.window) >> (packet.syn ? 0 : kWindowScale);
    const uint64_t ecn = !packet.capable || packet.syn || !packet.data ? 0 : packet.marked ? 3 : 2;
    PacketBytes bytes;
    Put(bytes, kPppIpv4, 2);
    PutIp(bytes, {ecn, all, packet.hops, kTcp, packet.source, packet.destination});
    const std::size_t begin = bytes.size();
    const uint64_t own = kFirstPort + packet.connection % kPorts;
    Put(bytes, packet.data ? own : kServicePort, 2);
    Put(bytes, packet.data ? kServicePort : own, 2);
    // Streams begin at 0, where the SYN is; the receiver sends no more than its own SYN.
    Put(bytes, packet.syn ? 0 : packet.data ? packet.first + 1 : 1, 4);
    Put(bytes, packet.syn && packet.data ? 0 : packet.data ? 1 : packet.arrived + 1, 4);
    Put(bytes, tcp / 4 << 4, 1);
    Put(bytes, FlagsOf(packet), 1);
    Put(bytes, std::min(window, kMostWindow), 2);
    Put(bytes, 0, 2); // the checksum is computed below
    Put(bytes, 0, 2);
    bytes.insert(bytes.end(), options.begin(), options.end());
    PacketBytes pseudo;
    Put(pseudo, kHostNetwork + static_cast<uint64_t>(packet.source) + 1, 4);
    Put(pseudo, kHostNetwork + static_cast<uint64_t>(packet.destination) + 1, 4);
    Put(pseudo, kTcp, 2);
    Put(pseudo, all, 2);
    const auto sum = static_cast<uint16_t>(~InternetChecksum(pseudo, 0, pseudo.size()));
    Set16(bytes, begin + 16, InternetChecksum(bytes, begin, bytes.size(), sum));
    return bytes;
}

} // namespace packet
} // namespace legacy
