// Transport presets: a documented set of TCP, queue and header parameters. They dominate every packet result, and ns-3's
// own defaults are wrong for data centres and fast long paths.
#pragma once

#include "units.h"

#include <cstdint>
#include <map>
#include <string>

namespace legacy::fabric
{

struct Transport
{
    std::string preset = "datacenter";
    std::string congestionControl = "ns3::TcpDctcp";
    bool ecn = true;                         ///< mark instead of drop, RED on every switch port
    int segmentBytes = 1448;                 ///< TCP payload of a full segment
    int headerBytes = 54;                    ///< per segment on the wire: PPP 2 + IPv4 20 + TCP 20 + timestamps 12
    int ackBytes = 54;
    int segmentsPerAck = 1;
    int initialWindow = 10;                  ///< segments
    TimeNs minRto = 5'000'000;
    TimeNs connectionTimeout = 100'000'000;
    TimeNs delayedAckTimeout = 1'000'000;
    int64_t socketBufferBytes = 0;           ///< 0: two bandwidth-delay products of the longest path, at least 1 MiB
    int64_t queueBytes = 0;                  ///< of a switch port; 0: the preset's rule
    int64_t markBytes = 0;                   ///< ECN threshold; 0: the preset's rule
    bool warm = true;                        ///< a step's time is that of the second of two back-to-back steps
    /// ns-3 attributes that the user set ("ns3::TcpSocket::SegmentSize" -> "1000"); win over the preset
    std::map<std::string, std::string> attributes;

    /// Bytes on the wire of `payload` bytes and of the ACKs that answer them.
    int64_t WireBytes(int64_t payload) const;
    int64_t AckWireBytes(int64_t payload) const;
    /// One full segment on the wire.
    int64_t FrameBytes() const;
    std::string Fingerprint() const;
};

/// "datacenter" or "wan"; throws Error otherwise.
Transport MakeTransport(const std::string& preset);

} // namespace legacy::fabric
