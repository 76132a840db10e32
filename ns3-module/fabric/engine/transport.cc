#include "transport.h"

#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/settings.h"
#include "fabric/roce/controls.h"
#include "fabric/roce/roce-settings.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace legacy::fabric
{

namespace
{

constexpr int64_t kMiB = 1 << 20;
constexpr int kPacketHeaders = 52; ///< IPv4 20 + TCP 20 + timestamps 12
constexpr int64_t kUsualFrame = 1502;

/// Returns the bytes that fit on a path of `rateBps` in one round trip.
int64_t BandwidthDelay(int64_t rateBps, TimeNs roundTrip)
{
    const double bytes = static_cast<double>(rateBps) * static_cast<double>(roundTrip) / 8e9;
    return static_cast<int64_t>(std::min(bytes, static_cast<double>(kMostBytes)));
}

/// The names of the connection kinds, by number.
constexpr std::array<const char*, 6> kConnectionNames{"warm",
                                                      "cold",
                                                      "tls",
                                                      "quic",
                                                      "quic-0rtt",
                                                      "persistent"};

} // namespace

int64_t Transport::Mtu() const
{
    return segmentBytes + kPacketHeaders;
}

void Transport::SetMtu(int64_t mtu)
{
    if (roce)
    {
        if (mtu != kUsualMtu)
        {
            throw Error("MTU",
                        std::to_string(mtu),
                        "nothing beside roce, whose frames are those of roce:mtu=");
        }
        return;
    }
    if (mtu < kLeastMtu || mtu > kMostMtu)
    {
        throw Error("MTU",
                    std::to_string(mtu),
                    std::to_string(kLeastMtu) + " to " + std::to_string(kMostMtu) + " bytes");
    }
    segmentBytes = static_cast<int>(mtu) - kPacketHeaders;
}

int64_t Transport::WireBytes(int64_t payload, int switches) const
{
    if (payload == 0)
    {
        return 0;
    }
    const int64_t padded = CeilDivide(payload, paddingBytes) * paddingBytes;
    return padded + Segments(payload) * (FrameBytes(switches) - segmentBytes) + messageBytes;
}

int64_t Transport::AckWireBytes(int64_t payload, int switches) const
{
    return Acks(payload) * AckBytes(switches);
}

int64_t Transport::Segments(int64_t payload) const
{
    return CeilDivide(payload, segmentBytes);
}

int64_t Transport::Acks(int64_t payload) const
{
    return CeilDivide(Segments(payload), segmentsPerAck);
}

bool Transport::IsCubic() const
{
    return congestionControl == "cubic" || congestionControl.find("Cubic") != std::string::npos;
}

double Transport::LossWindow(double loss, double roundTrip) const
{
    constexpr double kReno = 1.5;
    constexpr double kCubic = 1.054;
    constexpr double kExponent = 0.75;
    const double reno = std::sqrt(kReno / loss);
    return IsCubic() ? std::max(reno, kCubic * std::pow(roundTrip / loss, kExponent)) : reno;
}

int64_t Transport::FrameBytes(int switches) const
{
    return segmentBytes + headerBytes + (telemetry ? IntBytes(switches) : 0);
}

int64_t Transport::FirstFrameBytes(int switches) const
{
    return FrameBytes(switches) + messageBytes;
}

int64_t Transport::AckBytes(int switches) const
{
    return ackBytes + (telemetry ? IntBytes(switches) : 0);
}

int64_t Transport::StreamedBytes(int64_t bytes) const
{
    return utilisation < 1 ? std::llround(static_cast<double>(bytes) / utilisation) : bytes;
}

double Transport::AckRatio(int switches) const
{
    return static_cast<double>(AckBytes(switches)) /
           (segmentsPerAck * static_cast<double>(FrameBytes(switches)));
}

void Transport::CheckOptions() const
{
    if (!roce)
    {
        return;
    }
    const auto refuse = [](const std::string& what, const std::string& value, const char* reason)
    { throw Error(what, value, std::string("nothing beside roce: ") + reason); };
    if (!congestionControl.empty())
    {
        refuse("congestion control", congestionControl, "it is roce:cc=");
    }
    if (connections != ConnectionKind::Warm)
    {
        refuse("connections",
               ToString(connections),
               "queue pairs are open before anything is sent, at line rate");
    }
    if (streams != 1)
    {
        refuse("streams", std::to_string(streams), "a message travels on one queue pair");
    }
    if (!attributes.empty())
    {
        refuse(attributes.begin()->first,
               attributes.begin()->second,
               "ns-3's protocols and queues are not in use");
    }
}

int64_t Transport::PortQueueBytes(int64_t rateBps, TimeNs roundTrip) const
{
    if (queueBytes > 0)
    {
        return queueBytes;
    }
    return std::max(kMiB, BandwidthDelay(rateBps, roundTrip));
}

int64_t Transport::PortMarkBytes(int64_t rateBps) const
{
    if (markBytes > 0)
    {
        return markBytes;
    }
    constexpr int64_t kFramesUpTo1G = 20;
    constexpr int64_t kFramesAt10G = 65;
    const int64_t frames =
        std::max(kFramesUpTo1G, CeilDivide(kFramesAt10G * rateBps, 10'000'000'000));
    return std::max(frames * std::min(FrameBytes(), kUsualFrame), 2 * FrameBytes());
}

int64_t Transport::SocketBuffer(int64_t rateBps, TimeNs roundTrip) const
{
    if (socketBufferBytes > 0)
    {
        return socketBufferBytes;
    }
    return std::max(kMiB, 2 * BandwidthDelay(rateBps, roundTrip));
}

std::string Transport::Fingerprint() const
{
    std::string text = preset + " " + congestionControl;
    // Cold is 0 and warm is 1 because there were only these two at first.
    const int64_t fingerprint = connections == ConnectionKind::Warm ? 1
                                : connections == ConnectionKind::Cold
                                    ? 0
                                    : static_cast<int>(connections);
    for (int64_t value : {int64_t{ecn},
                          int64_t{segmentBytes},
                          int64_t{headerBytes},
                          int64_t{ackBytes},
                          int64_t{segmentsPerAck},
                          int64_t{initialWindow},
                          minRto,
                          connectionTimeout,
                          delayedAckTimeout,
                          socketBufferBytes,
                          queueBytes,
                          markBytes,
                          fingerprint})
    {
        text += " " + std::to_string(value);
    }
    text += !roce && !sockets ? " segments" : "";
    text += train > 1 ? " train=" + std::to_string(train) : "";
    text += roce ? " " + roce->Fingerprint() : "";
    text += streams > 1 ? " streams=" + std::to_string(streams) : "";
    text += skip == Skip::Steady ? " skip=steady" : "";
    for (const auto& [name, value] : attributes)
    {
        text += " " + name + "=" + value;
    }
    return text;
}

ConnectionKind ParseConnectionKind(const std::string& text, const std::string& option)
{
    std::string allowed;
    for (size_t i = 0; i < kConnectionNames.size(); ++i)
    {
        if (text == kConnectionNames[i])
        {
            return static_cast<ConnectionKind>(i);
        }
        allowed += (i ? ", " : "") + std::string(kConnectionNames[i]);
    }
    throw Error(option, text, allowed);
}

std::string ToString(ConnectionKind kind)
{
    return kConnectionNames[static_cast<size_t>(kind)];
}

int HandshakeRoundTrips(ConnectionKind kind)
{
    switch (kind)
    {
    case ConnectionKind::Cold:
    case ConnectionKind::Quic:
        return 1;
    case ConnectionKind::Tls:
        return 2;
    default:
        return 0;
    }
}

namespace
{

Transport MakeRoce(const std::string& text, const std::string& option)
{
    const RoceSettings settings = RoceSettings::Parse(text, option);
    Transport transport;
    transport.preset = kRoceName;
    transport.congestionControl.clear();
    transport.ecn = false;
    transport.segmentBytes = settings.mtu;
    transport.headerBytes = settings.headerBytes;
    transport.messageBytes = settings.messageBytes;
    transport.paddingBytes = RoceSettings::kPayloadPadding;
    transport.ackBytes = settings.ackBytes;
    transport.segmentsPerAck = settings.framesPerAck;
    const RoceTraits traits = MakeRoceControl(settings.control, option)->Traits();
    transport.telemetry = traits.telemetry;
    transport.utilisation = traits.utilisation;
    transport.switchDelay = settings.switchDelay;
    transport.queuePairs = settings.qps;
    transport.roce = std::make_shared<const RoceSettings>(settings);
    return transport;
}

/// Returns the preset of wide-area networks.
Transport MakeWan()
{
    Transport transport;
    transport.preset = "wan";
    transport.congestionControl = "cubic"; // Linux
    transport.ecn = false;
    transport.segmentsPerAck = 2;                // RFC 5681, section 4.2
    transport.minRto = 200'000'000;              // Linux
    transport.connectionTimeout = 1'000'000'000; // RFC 6298, section 2
    transport.delayedAckTimeout = 40'000'000;    // Linux
    return transport;
}

/// Returns the preset "datacenter" or "wan", with its options.
Transport MakeTcp(const std::string& text, const std::string& option)
{
    const std::string name = text.substr(0, text.find(':'));
    if (name != "datacenter" && name != "wan")
    {
        throw NotAmong(option,
                       name,
                       {"datacenter", "wan", "ns3:datacenter", "ns3:wan", "roce"},
                       "",
                       "roce:key=value,... (RDMA over Ethernet)");
    }
    Transport transport = name == "wan" ? MakeWan() : Transport();
    Settings settings = Settings::FromText(text, option);
    transport.train = settings.Int("train", 1, 1, kLongestTrain);
    settings.RejectUnread();
    return transport;
}

} // namespace

Transport MakeTransport(const std::string& preset, const std::string& option)
{
    if (preset == kRoceName || preset.rfind(kRoceName + std::string(":"), 0) == 0)
    {
        return MakeRoce(preset, option);
    }
    const std::string sockets = "ns3:";
    if (preset.rfind(sockets, 0) != 0)
    {
        return MakeTcp(preset, option);
    }
    Transport transport = MakeTransport(preset.substr(sockets.size()), option);
    if (transport.roce || transport.sockets)
    {
        throw Error(option, preset, "ns3:datacenter, ns3:wan");
    }
    if (transport.train > 1)
    {
        throw Error(option + ": train",
                    std::to_string(transport.train),
                    "1 with ns3:, whose devices send each packet by itself");
    }
    transport.preset = sockets + transport.preset;
    transport.sockets = true;
    return transport;
}

} // namespace legacy::fabric
