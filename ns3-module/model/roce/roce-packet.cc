/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-packet.h"

#include "fabric/roce/roce-settings.h"
#include "model/frames/packet-bytes.h"

#include "ns3/crc32.h"

#include <algorithm>
#include <cstddef>

namespace legacy
{
namespace packet
{

namespace
{

constexpr std::size_t kAddressBytes = 12;
constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kUdpBytes = 8;
constexpr std::size_t kIcrcBytes = 4;
constexpr std::size_t kLeastFrame = 60; ///< bytes without the FCS
constexpr uint64_t kLow24 = 0xffffff;

using Bytes = PacketBytes;

/// Appends the locally administered address of a node's NIC.
void PutMac(Bytes& to, int node)
{
    Put(to, 0x0200, 2);
    Put(to, static_cast<uint64_t>(node), 4);
}

Bytes MakePause(const RocePacket& packet)
{
    constexpr int kClasses = 8;
    Bytes bytes = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
    PutMac(bytes, packet.source);
    Put(bytes, 0x8808, 2);                         // MAC control
    Put(bytes, 0x0101, 2);                         // priority flow control
    Put(bytes, uint64_t{1} << packet.priority, 2); // classes that the pause is for
    for (int of = 0; of < kClasses; ++of)
    {
        Put(bytes, of == packet.priority ? static_cast<uint64_t>(packet.quanta) : 0, 2);
    }
    bytes.resize(kLeastFrame);
    return bytes;
}

uint8_t OpcodeOf(const RocePacket& packet)
{
    switch (packet.kind)
    {
    case FrameKind::Data: // RDMA WRITE of reliable connections
        return packet.first ? (packet.last ? 0x0a : 0x06) : (packet.last ? 0x08 : 0x07);
    case FrameKind::Cnp:
        return 0x81;
    default:
        return 0x11; // acknowledge
    }
}

/// Returns the InfiniBand headers and what they carry.
Bytes MakeTransport(const RocePacket& packet)
{
    constexpr uint64_t kPadding = fabric::RoceSettings::kPayloadPadding;
    const bool data = packet.kind == FrameKind::Data;
    const auto payload = static_cast<uint64_t>(data ? packet.payload : 0);
    const uint64_t pad = (kPadding - payload % kPadding) % kPadding;
    // An ACK names the last frame that has arrived, a NAK the one that has not arrived.
    const uint64_t psn = packet.kind == FrameKind::Ack   ? packet.psn - 1
                         : packet.kind == FrameKind::Cnp ? 0
                                                         : packet.psn;
    Bytes bytes;
    Put(bytes, OpcodeOf(packet), 1);
    Put(bytes, pad << 4, 1);
    Put(bytes, 0xffff, 2);                                   // default partition
    Put(bytes, packet.kind == FrameKind::Cnp ? 0x40 : 0, 1); // BECN
    Put(bytes, packet.pair & kLow24, 3);
    Put(bytes, data && packet.wantsAck ? 0x80 : 0, 1);
    Put(bytes, psn & kLow24, 3);
    if (data && packet.first)
    {
        Put(bytes, 0, 8); // virtual address
        Put(bytes, packet.pair, 4);
        Put(bytes, static_cast<uint64_t>(packet.messageBytes), 4);
    }
    if (packet.kind == FrameKind::Ack || packet.kind == FrameKind::Nak)
    {
        Put(bytes,
            packet.kind == FrameKind::Ack ? 0x1f : 0x60,
            1); // no credits; PSN sequence error
        Put(bytes, packet.messages & kLow24, 3);
    }
    if (packet.telemetry && packet.kind != FrameKind::Cnp)
    {
        Put(bytes,
            fabric::EncodeIntHeader(static_cast<int>(packet.records.size()),
                                    static_cast<uint16_t>(packet.pair)),
            2);
        for (const fabric::IntRecord& record : packet.records)
        {
            Put(bytes, fabric::EncodeIntRecord(record), 8);
        }
    }
    constexpr std::size_t kReserved = 16; // of a CNP
    bytes.resize(bytes.size() + payload + pad + (packet.kind == FrameKind::Cnp ? kReserved : 0));
    return bytes;
}

} // namespace

std::vector<uint8_t> RoceIcrc(const std::vector<uint8_t>& frame)
{
    // Fields that switches may change count as ones, and so do the eight bytes of a local route
    // header.
    constexpr std::size_t kRouteBytes = 8;
    constexpr std::size_t kIp = kRouteBytes;
    constexpr std::size_t kUdp = kIp + kIpBytes;
    constexpr std::size_t kTransport = kUdp + kUdpBytes;
    Bytes masked(kRouteBytes, 0xff);
    masked.insert(masked.end(), frame.begin() + kEthernetBytes, frame.end() - kIcrcBytes);
    for (const std::size_t at : {kIp + 1, // DSCP and ECN
                                 kIp + 8, // time to live
                                 kIp + 10,
                                 kIp + 11, // header checksum
                                 kUdp + 6,
                                 kUdp + 7,        // checksum
                                 kTransport + 4}) // FECN, BECN
    {
        masked[at] = 0xff;
    }
    const uint32_t crc = ns3::CRC32Calculate(masked.data(), static_cast<int>(masked.size()));
    Bytes bytes;
    for (int shift = 0; shift < 32; shift += 8)
    {
        bytes.push_back(static_cast<uint8_t>(crc >> shift));
    }
    return bytes;
}

std::vector<uint8_t> MakeRoceBytes(const RocePacket& packet)
{
    if (packet.kind == FrameKind::Pause)
    {
        return MakePause(packet);
    }
    constexpr uint64_t kRocePort = 4791;
    constexpr uint64_t kFirstPort =
        0xc000; // of those of queue pairs, by which ECMP tells them apart
    constexpr uint64_t kPorts = 0x4000;
    const Bytes transport = MakeTransport(packet);
    const std::size_t udp = kUdpBytes + transport.size() + kIcrcBytes;
    Bytes bytes;
    PutMac(bytes, packet.destination);
    PutMac(bytes, packet.source);
    Put(bytes, 0x0800, 2);
    const uint64_t ecn = packet.kind != FrameKind::Data ? 0 : packet.marked ? 3 : 2;
    PutIp(bytes,
          {static_cast<uint64_t>(packet.priority) << 5 | ecn, // class selector, ECN
           udp,
           packet.hops,
           17,
           packet.source,
           packet.destination});
    Put(bytes, kFirstPort + packet.pair % kPorts, 2);
    Put(bytes, kRocePort, 2);
    Put(bytes, udp, 2);
    Put(bytes, 0, 2);
    bytes.insert(bytes.end(), transport.begin(), transport.end());
    bytes.resize(bytes.size() + kIcrcBytes);
    const Bytes icrc = RoceIcrc(bytes);
    std::copy(icrc.begin(), icrc.end(), bytes.end() - kIcrcBytes);
    if (packet.vlan)
    {
        Bytes tag;
        Put(tag, 0x8100, 2); // IEEE 802.1Q
        Put(tag, static_cast<uint64_t>(packet.priority) << 13, 2);
        bytes.insert(bytes.begin() + kAddressBytes, tag.begin(), tag.end());
    }
    return bytes;
}

} // namespace packet
} // namespace legacy
