// Transport presets: a documented set of TCP, queue and header parameters. They dominate every
// packet result, and ns-3's own defaults are wrong for data centres and fast long paths.
#pragma once

#include "fabric/base/units.h"

#include <cstdint>
#include <map>
#include <string>

namespace legacy::fabric
{

struct Transport
{
    std::string preset = "datacenter";
    std::string congestionControl = "ns3::TcpDctcp"; ///< of ns-3, as it is or without "ns3::"
    bool ecn = true;         ///< mark instead of drop, RED on every switch port
    int segmentBytes = 1448; ///< TCP payload of a full segment
    int headerBytes = 54;    ///< per segment on the wire: PPP 2 + IPv4 20 + TCP 20 + timestamps 12
    int ackBytes = 54;
    int segmentsPerAck = 1;
    int initialWindow = 10; ///< segments
    TimeNs minRto = 5'000'000;
    TimeNs connectionTimeout = 100'000'000;
    TimeNs delayedAckTimeout = 1'000'000;
    /// 0: two bandwidth-delay products of each connection's own path, at least 1 MiB
    int64_t socketBufferBytes = 0;
    int64_t queueBytes = 0; ///< of a switch port; 0: the preset's rule
    int64_t markBytes = 0;  ///< ECN threshold; 0: the preset's rule
    bool warm = true;       ///< a step's time is that of the second of two back-to-back steps
    /// ns-3 attributes that the user set ("ns3::TcpSocket::SegmentSize" -> "1000"); win over the
    /// preset
    std::map<std::string, std::string> attributes;

    /// Largest IPv4 packet, of a full segment: what Ethernet carries until SetMtu says otherwise.
    int64_t Mtu() const;
    /// Segments fill packets of `mtu` bytes, for all engines. Throws Error outside kLeastMtu ..
    /// kMostMtu.
    void SetMtu(int64_t mtu);

    /// Bytes on the wire of `payload` bytes and of the ACKs that answer them.
    int64_t WireBytes(int64_t payload) const;
    int64_t AckWireBytes(int64_t payload) const;
    /// TCP segments that carry `payload` bytes, and ACKs that answer them; 0 for 0.
    int64_t Segments(int64_t payload) const;
    int64_t Acks(int64_t payload) const;
    /// One full segment on the wire.
    int64_t FrameBytes() const;

    /// The presets' rules, for a port or path of `rateBps` whose longest round trip takes
    /// `roundTrip`; what the user set wins. Queue of a switch port: a bandwidth-delay product, at
    /// least 1 MiB.
    int64_t PortQueueBytes(int64_t rateBps, TimeNs roundTrip) const;
    /// Instantaneous queue above which packets are marked: 20 frames up to 1 Gbit/s, 65 at 10
    /// Gbit/s, in proportion to the rate beyond (Alizadeh et al., SIGCOMM'10, section 4). Longer
    /// frames change nothing, but two of them fit: the rule is about bytes in a round trip.
    int64_t PortMarkBytes(int64_t rateBps) const;
    /// Send and receive buffer: two bandwidth-delay products, at least 1 MiB.
    int64_t SocketBuffer(int64_t rateBps, TimeNs roundTrip) const;
    std::string Fingerprint() const;
};

/// What every IPv4 host takes (RFC 791), and the largest IPv4 packet.
inline constexpr int64_t kLeastMtu = 576;
inline constexpr int64_t kMostMtu = 65535;

/// "datacenter" or "wan"; throws Error otherwise.
Transport MakeTransport(const std::string& preset);

} // namespace legacy::fabric
