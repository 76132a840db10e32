// A transport preset is a documented set of TCP, queue and header parameters. These parameters
// dominate every packet result, and ns-3's own defaults are wrong for data centres and for fast
// long paths.
#pragma once

#include "base/units.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace legacy::fabric
{

struct RoceSettings;

/// A ConnectionKind says what connections are when a step, or a client's task, begins.
enum class ConnectionKind : uint8_t
{
    Warm,        ///< open, with the windows that a step before has left
    Cold,        ///< a handshake of one round trip (TCP), then slow start
    Tls,         ///< two round trips (TCP and TLS 1.3, RFC 8446), then slow start
    Quic,        ///< one round trip (RFC 9001), then slow start
    QuicZeroRtt, ///< none, then slow start
    Persistent,  ///< open; a window that was idle for longer than the RTO has shrunk (RFC
                 ///< 9293, 3.8.4)
};

/// Returns the kind of that name: warm, cold, tls, quic, quic-0rtt, persistent. Throws Error naming
/// `option`.
ConnectionKind ParseConnectionKind(const std::string& text, const std::string& option);
std::string ToString(ConnectionKind kind);
/// Returns the round trips before the first byte of a new connection.
int HandshakeRoundTrips(ConnectionKind kind);

/// A Skip says which packets are not simulated.
enum class Skip : uint8_t
{
    None,
    Steady, ///< those of messages that repeat (model/steady-carrier.h)
};

/// A Transport holds the parameters of TCP, queues and headers; or those of RoCEv2, where `roce` is
/// set: then segments are frames, and what is TCP's alone is not read.
struct Transport
{
    std::string preset = "datacenter";
    /// Congestion control: "reno", "cubic" (both as Linux has them) or "dctcp" at all fidelities,
    /// or a class of ns-3, with or without "ns3::". Engines without packets treat all but Cubic as
    /// Reno.
    std::string congestionControl = "dctcp";
    bool ecn = true;         ///< switch ports mark packets by RED instead of dropping them
    int segmentBytes = 1448; ///< TCP payload of a full segment
    /// Bytes per segment on the wire: PPP 2 + IPv4 20 + TCP 20 + timestamps 12.
    int headerBytes = 54;
    int ackBytes = 54;
    int segmentsPerAck = 1;
    int messageBytes = 0;   ///< header bytes of a message's first segment alone
    int paddingBytes = 1;   ///< the last segment's payload fills a multiple of this
    int initialWindow = 10; ///< segments
    TimeNs minRto = 5'000'000;
    TimeNs connectionTimeout = 100'000'000;
    TimeNs delayedAckTimeout = 1'000'000;
    /// Bytes of a socket buffer; 0: two bandwidth-delay products of each connection's own path, at
    /// least 1 MiB.
    int64_t socketBufferBytes = 0;
    int64_t queueBytes = 0; ///< queue of a switch port; 0: the preset's rule
    int64_t markBytes = 0;  ///< ECN threshold of a switch port; 0: the preset's rule
    ConnectionKind connections = ConnectionKind::Warm;
    int streams = 1; ///< connections between two endpoints that share each flow
    /// ns-3 attributes that the user set ("ns3::TcpSocket::SegmentSize" -> "1000"). They take
    /// precedence over the preset.
    std::map<std::string, std::string> attributes;
    /// Packets are those of ns-3's sockets, IP and devices; else records of our own (model/tcp/).
    bool sockets = false;
    /// Most segments of a connection that leave their NIC as one frame, which ports and switches
    /// forward, mark and count as these segments; 1: each is a frame (model/tcp/tcp-trains.h).
    int train = 1;
    std::shared_ptr<const RoceSettings> roce; ///< NICs and switches of RoCEv2; nullptr: TCP
    /// Share of a switch port that long flows fill: HPCC's eta with roce:cc=hpcc, else 1.
    double utilisation = 1;
    bool telemetry = false; ///< frames and ACKs carry HPCC's telemetry of the switches passed
    int queuePairs = 1;     ///< of each ordered pair of nodes and lane; they take messages in turn
    TimeNs switchDelay = 0; ///< of a frame in each switch, beyond storing it (roce:switch-delay)
    Skip skip = Skip::None;

    /// Throws Error where options of TCP have been set together with roce, saying which and why.
    void CheckOptions() const;
    /// Returns whether packets are records of ours, on NICs and switches of ours.
    bool HasFrames() const
    {
        return roce || !sockets;
    }

    /// Returns the largest IPv4 packet, that of a full segment: what Ethernet carries, until SetMtu
    /// says otherwise.
    int64_t Mtu() const;
    /// Makes segments fill packets of `mtu` bytes, for all engines. Throws Error outside kLeastMtu
    /// to kMostMtu.
    void SetMtu(int64_t mtu);

    /// Returns true where connections were opened before a step begins, so that an engine that
    /// opens them with packets runs the step once before it counts.
    bool WarmsUp() const
    {
        return connections == ConnectionKind::Warm || connections == ConnectionKind::QuicZeroRtt ||
               connections == ConnectionKind::Persistent;
    }

    /// Return the bytes on the wire of `payload` bytes, and of the ACKs that answer them, on a path
    /// with that number of switches: each adds to the telemetry of frames and ACKs. Frames count
    /// with what they carry at the end of the path.
    int64_t WireBytes(int64_t payload, int switches = 0) const;
    int64_t AckWireBytes(int64_t payload, int switches = 0) const;
    /// Return the TCP segments that carry `payload` bytes, and the ACKs that answer them; 0 for 0.
    int64_t Segments(int64_t payload) const;
    int64_t Acks(int64_t payload) const;
    /// Returns the window, in segments, that congestion control has on average where each packet is
    /// lost with probability `loss`: sqrt(3 / (2 p)) of Reno (Mathis et al., CCR 1997), for Cubic
    /// at least 1.054 (RTT / p)^(3/4) (RFC 9438, section 5.1). `roundTrip` is in seconds.
    double LossWindow(double loss, double roundTrip) const;
    bool IsCubic() const; ///< true for "cubic" and for classes of ns-3 with that in their names
    /// Return the bytes of one full segment on the wire, of a message's first one, and of an ACK,
    /// after that number of switches.
    int64_t FrameBytes(int switches = 0) const;
    int64_t FirstFrameBytes(int switches = 0) const;
    int64_t AckBytes(int switches = 0) const;
    /// Returns the bytes that a switch's port could send while it sends `bytes` of a long flow.
    int64_t StreamedBytes(int64_t bytes) const;
    /// Returns the bytes of ACKs for each byte of long flows on the wire.
    double AckRatio(int switches = 0) const;

    /// Returns the bytes of a switch port's queue: what the user set, else a bandwidth-delay
    /// product, at least 1 MiB. `rateBps` is the port's rate and `roundTrip` the longest round trip
    /// over it.
    int64_t PortQueueBytes(int64_t rateBps, TimeNs roundTrip) const;
    /// Returns the bytes in a queue above which packets are marked: 20 frames up to 1 Gbit/s, 65 at
    /// 10 Gbit/s, in proportion to the rate beyond (Alizadeh et al., SIGCOMM'10, section 4). Longer
    /// frames change nothing, but two of them fit: the rule is about bytes in a round trip.
    int64_t PortMarkBytes(int64_t rateBps) const;
    /// Returns the bytes of the send and of the receive buffer: two bandwidth-delay products, at
    /// least 1 MiB.
    int64_t SocketBuffer(int64_t rateBps, TimeNs roundTrip) const;
    /// Returns all parameters as text: a part of the key of memoised steps.
    std::string Fingerprint() const;
};

/// The MTU that every IPv4 host takes (RFC 791), and the largest IPv4 packet.
inline constexpr int64_t kLeastMtu = 576;
inline constexpr int64_t kMostMtu = 65535;
/// The MTU of Ethernet. With roce, SetMtu accepts only this one, because frames of RoCEv2 have an
/// option of their own.
inline constexpr int64_t kUsualMtu = 1500;

/// The most segments of a train.
inline constexpr int kLongestTrain = 64;

/// Returns the preset "datacenter" or "wan", which take ":train=N" (Transport::train), with "ns3:"
/// before it for packets of ns-3's sockets, or "roce" and "roce:key=value,..." (roce-settings.h).
/// Throws Error naming `option` on anything else.
Transport MakeTransport(const std::string& text, const std::string& option = "transport");

} // namespace legacy::fabric
