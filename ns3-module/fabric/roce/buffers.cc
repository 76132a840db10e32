#include "buffers.h"

#include "controls.h"

#include "base/error.h"

#include <algorithm>
#include <charconv>

namespace legacy::fabric
{

namespace
{

/// The number of switches on the longest path for which headroom allows telemetry.
constexpr int kSwitchesInHeadroom = 64;

/// Returns the rate of the fastest port of a host.
int64_t HostRate(const Topology& topology)
{
    int64_t rate = 1;
    for (int host : topology.Hosts())
    {
        for (DirectedLink link : topology.Out(host))
        {
            rate = std::max(rate, topology.PortOf(link).rateBps);
        }
    }
    return rate;
}

/// Returns the largest frame on the paths of a topology.
int64_t LargestFrameOf(const Topology& topology, const RoceSettings& settings)
{
    return settings.LargestFrame(std::min(topology.NodeCount(), kSwitchesInHeadroom));
}

/// Returns the headroom of the switch port at which `link` ends, if `frame` bytes leave ports
/// without a gap.
int64_t HeadroomFor(const Topology& topology,
                    DirectedLink link,
                    const RoceSettings& settings,
                    int64_t frame)
{
    return HeadroomBytes(topology.PortOf(link).rateBps,
                         topology.PortOf(link ^ 1).rateBps,
                         topology.LinkOf(link).delay,
                         Later(settings.response, settings.switchDelay),
                         frame);
}

/// Returns the headroom that trains add.
int64_t TrainRoomOf(const Topology& topology, DirectedLink link, const RoceSettings& settings)
{
    const int64_t frame = LargestFrameOf(topology, settings);
    return HeadroomFor(topology, link, settings, settings.train * frame) -
           HeadroomFor(topology, link, settings, frame);
}

/// Throws Error if a pause of the link would end before it can be renewed. A pause is renewed at
/// half its time, by a frame that waits for the one that its port is sending.
void CheckQuanta(const Topology& topology, DirectedLink link, const RoceSettings& settings)
{
    constexpr double kBytesOfHalf = 512.0 / 8 / 2;
    const double behind = static_cast<double>(settings.train * LargestFrameOf(topology, settings)) *
                          static_cast<double>(topology.PortOf(link).rateBps) /
                          static_cast<double>(topology.PortOf(link ^ 1).rateBps);
    const auto least = static_cast<int64_t>(behind / kBytesOfHalf) + 2;
    if (settings.quanta < least)
    {
        throw Error("roce: quanta",
                    std::to_string(settings.quanta),
                    std::to_string(least) + " or more for " + topology.LinkName(link) +
                        ": pauses are renewed at half, after a full frame or train");
    }
}

/// Throws Error if switches without a lossless class would drop every full frame.
void CheckRoomForFrame(const SharedBuffer& buffer,
                       const std::string& name,
                       const std::vector<SharedBuffer::PortRoom>& rooms,
                       const RoceSettings& settings,
                       int64_t frame)
{
    const auto check = [&](const char* key, double alpha)
    {
        if (buffer.Threshold(alpha) < frame)
        {
            throw Error("buffer of " + name,
                        std::to_string(buffer.Size()) + " bytes",
                        "with pfc=off, more: roce:" + std::string(key) + " times the " +
                            std::to_string(buffer.Shared()) +
                            " bytes that it has to share are no room for a frame of " +
                            std::to_string(frame));
        }
    };
    check("egress-alpha", settings.egressAlpha);
    for (const SharedBuffer::PortRoom& room : rooms)
    {
        if (frame > RoceSettings::kReserveBytes)
        {
            check("alpha", room.alpha);
        }
    }
}

} // namespace

int HostOfStorm(const Topology& topology, const RoceStorm& storm)
{
    const std::vector<int>& hosts = topology.Hosts();
    for (size_t i = 0; i < hosts.size(); ++i)
    {
        if (topology.NodeName(hosts[i]) == storm.host)
        {
            return hosts[i];
        }
    }
    size_t number = 0;
    const char* end = storm.host.data() + storm.host.size();
    const auto [rest, error] = std::from_chars(storm.host.data(), end, number);
    if (error != std::errc() || rest != end || number >= hosts.size())
    {
        throw Error("roce: storm: host",
                    storm.host,
                    "a host's number from 0 to " + std::to_string(hosts.size() - 1) +
                        ", or its name, such as " + topology.NodeName(hosts.front()));
    }
    return hosts[number];
}

namespace
{

/// Checks what several paths of a connection require: frames that overtake others must not count as
/// losses.
void CheckMultipath(const Topology& topology,
                    const RoceSettings& settings,
                    const RoceTraits& traits)
{
    const bool spray = topology.GetMultipath() == Multipath::Spray;
    if (spray && settings.recovery == RoceRecovery::GoBackN)
    {
        throw Error("multipath",
                    "spray",
                    "ecmp beside roce:recovery=go-back-n, which takes frames that overtake others "
                    "for losses (recovery=selective does not)");
    }
    if (spray && traits.telemetry)
    {
        throw Error("multipath",
                    "spray",
                    "ecmp beside roce:cc=" + settings.control +
                        ", which compares the links of a path with themselves");
    }
    if (!spray && settings.reorder > 0)
    {
        throw Error("roce:reorder",
                    std::to_string(settings.reorder),
                    "nothing without multipath=spray: frames of a path keep their order");
    }
}

/// Checks the rate, the losses and the queue of one direction of a link.
void CheckRoceLink(const Topology& topology,
                   DirectedLink link,
                   const RoceSettings& settings,
                   const RoceTraits& traits)
{
    if (traits.telemetryOnWire)
    {
        IntRateCode(static_cast<double>(topology.PortOf(link).rateBps),
                    "rate of " + topology.LinkName(link));
    }
    if (settings.train > 1 && topology.PortOf(link).errorRate > 0)
    {
        throw Error("roce:train",
                    std::to_string(settings.train),
                    "1 beside " + topology.LinkName(link) + ", which loses single frames");
    }
    const int64_t queue = topology.PortOf(link).queueBytes;
    if (queue > 0 && settings.pfc)
    {
        throw Error("queue of " + topology.LinkName(link),
                    std::to_string(queue) + " bytes",
                    "0 with roce:pfc=on: the shared buffer is the limit (roce:buffer=); "
                    "pfc=off reads it");
    }
    const int64_t frame = RoceSettings::InBuffer(LargestFrameOf(topology, settings));
    if (queue > 0 && queue < frame && !topology.IsHost(topology.From(link)))
    {
        throw Error("queue of " + topology.LinkName(link),
                    std::to_string(queue) + " bytes",
                    "0, or room for a frame: " + std::to_string(frame) + " or more");
    }
}

} // namespace

void CheckRoce(const Topology& topology, const RoceSettings& settings)
{
    if (settings.storm)
    {
        HostOfStorm(topology, *settings.storm);
    }
    const RoceTraits traits = MakeRoceControl(settings.control, "roce:cc")->Traits();
    CheckMultipath(topology, settings, traits);
    const auto links = static_cast<DirectedLink>(2 * topology.Links().size());
    for (DirectedLink link = 0; link < links; ++link)
    {
        CheckRoceLink(topology, link, settings, traits);
    }
    for (DirectedLink link = 0; settings.pfc && link < links; ++link)
    {
        CheckQuanta(topology, link, settings);
    }
}

int64_t HeadroomOf(const Topology& topology, DirectedLink link, const RoceSettings& settings)
{
    if (settings.headroomBytes > 0)
    {
        return settings.headroomBytes;
    }
    return HeadroomFor(topology, link, settings, LargestFrameOf(topology, settings));
}

std::unique_ptr<SharedBuffer>
MakeSwitchBuffer(const Topology& topology, int node, const RoceSettings& settings)
{
    constexpr double kBytesPerBit = 5e3 / 1e9; // 64 MB at 12.8 Tbit/s
    constexpr int64_t kLeast = 4 << 20;
    constexpr int64_t kFrames = 8; // room to share, for each port
    const int64_t hostRate = HostRate(topology);
    const int64_t frame = settings.mtu + settings.headerBytes;
    std::vector<SharedBuffer::PortRoom> rooms;
    double rates = 0;
    int64_t needed = 0;
    for (DirectedLink out : topology.Out(node))
    {
        SharedBuffer::PortRoom room;
        room.headroom = settings.pfc ? HeadroomOf(topology, out ^ 1, settings) : 0;
        room.trains = settings.pfc ? TrainRoomOf(topology, out ^ 1, settings) : 0;
        room.alpha = settings.alpha;
        for (int64_t rate = topology.PortOf(out ^ 1).rateBps / 2;
             settings.alphaByRate && rate >= hostRate;
             rate /= 2)
        {
            room.alpha *= 2;
        }
        rates += static_cast<double>(topology.PortOf(out).rateBps);
        needed += room.headroom + kFrames * frame +
                  static_cast<int64_t>(kRoceClasses) * RoceSettings::kReserveBytes;
        rooms.push_back(room);
    }
    const int64_t bytes =
        settings.bufferBytes > 0
            ? settings.bufferBytes
            : std::max({kLeast, needed, static_cast<int64_t>(rates * kBytesPerBit)});
    const int64_t xon = settings.xonBytes > 0 ? settings.xonBytes : 2 * frame;
    const std::string name = "switch " + topology.NodeName(node);
    auto buffer = std::make_unique<SharedBuffer>(name, bytes, rooms, settings.pfc, xon);
    if (!settings.pfc)
    {
        CheckRoomForFrame(*buffer,
                          name,
                          rooms,
                          settings,
                          RoceSettings::InBuffer(LargestFrameOf(topology, settings)));
    }
    return buffer;
}

} // namespace legacy::fabric
