#include "closed-form.h"

#include "base.h"
#include "base/error.h"
#include "closed-form-parts.h"
#include "ring-plan.h"

#include <algorithm>

namespace legacy::fabric
{

WideTime WireTime(const UniformPath& path, int64_t payload, const Transport& transport)
{
    const int64_t wire = transport.WireBytes(payload, path.hops - 1);
    const int64_t first = std::min(wire, transport.FirstFrameBytes(path.hops - 1));
    // With a single hop, no port of a switch follows the NIC.
    const int64_t rest = path.hops > 1 ? transport.StreamedBytes(wire - first) : wire - first;
    return SerialisationTime(first + rest, path.rateBps);
}

WideTime AckTime(const UniformPath& path, int64_t payload, const Transport& transport)
{
    return SerialisationTime(transport.AckWireBytes(payload, path.hops - 1), path.rateBps);
}

TimeNs PaceTime(double pace, int64_t bytes)
{
    return RoundedTime(pace * static_cast<double>(bytes));
}

namespace
{

/// Returns the time of a port that sends `flows` messages in each of `rounds` rounds, and the ACKs
/// of as many messages, without a pause.
WideTime PortTime(int64_t rounds,
                  int flows,
                  int64_t bytes,
                  const UniformPath& path,
                  const Transport& transport)
{
    return FlowTime(path, bytes, transport) +
           (WideTime{rounds} * flows - 1) * WireTime(path, bytes, transport) +
           WideTime{rounds - 1} * flows * AckTime(path, bytes, transport);
}

/// Returns the time of `rounds` dependent rounds of messages of `bytes`.
WideTime
RingTime(int64_t rounds, int64_t bytes, const UniformPath& path, const Transport& transport)
{
    return rounds * WideTime{FlowTime(path, bytes, transport)} +
           (rounds - 1) * AckTime(path, bytes, transport);
}

/// A RingsShape has the number of rounds of each channel over all its turns, which follow one
/// another, and the bytes of its largest message.
struct RingsShape
{
    explicit RingsShape(const CollectiveSpec& spec)
    {
        const RingPlan plan(spec);
        rounds = int64_t{plan.Turns()} * plan.Rounds();
        bytes = plan.LargestMessage();
        if (plan.Group() < plan.Workers())
        {
            crossings = (rounds - 1) / plan.Group() + 1;
        }
        const ProtocolCosts costs = plan.Costs();
        const TimeNs inside = costs.inside + PaceTime(spec.pace.inside, bytes);
        const TimeNs across = costs.across + PaceTime(spec.pace.across, bytes);
        passing =
            costs.start + WideTime{crossings} * across + WideTime{rounds - crossings} * inside;
        first = costs.start + (crossings > 0 ? across : inside);
    }

    int64_t rounds;
    int64_t bytes;
    int64_t crossings = 0; ///< most hops between nodes in any `rounds` consecutive hops
    WideTime passing;      ///< the protocol's time over all rounds
    WideTime first;        ///< the protocol's time before a first message leaves
};

} // namespace

TimeNs RingsTime(const CollectiveSpec& spec, const UniformPath& path, const Transport& transport)
{
    const RingsShape ring(spec);
    const WideTime others =
        WireTime(path, ring.bytes, transport) + AckTime(path, ring.bytes, transport);
    return NarrowTime(
        std::max(RingTime(ring.rounds, ring.bytes, path, transport) + (spec.channels - 1) * others +
                     ring.passing,
                 PortTime(ring.rounds, spec.channels, ring.bytes, path, transport) + ring.first));
}

TimeNs RailRingsTime(const CollectiveSpec& spec, const NodePaths& paths, const Transport& transport)
{
    CheckCollective(spec);
    const auto workers = static_cast<int>(spec.bytes.size());
    if (!IsRing(spec.algorithm))
    {
        throw Error("closed form of rings", ToString(spec.algorithm), "a ring algorithm");
    }
    if (spec.group < 1 || workers % spec.group != 0 || workers == spec.group)
    {
        throw Error("closed form of rings: workers",
                    std::to_string(workers),
                    "a multiple of the group, " + std::to_string(spec.group) + ", and more");
    }
    const RingsShape ring(spec);
    const auto acks = [&](const UniformPath& path) { return AckTime(path, ring.bytes, transport); };
    const auto hop = [&](const UniformPath& path)
    { return FlowTime(path, ring.bytes, transport) + acks(path); };
    const auto port = [&](const UniformPath& path, int flows)
    { return PortTime(ring.rounds, flows, ring.bytes, path, transport) + ring.first; };

    const int inside = spec.group == 1 ? 0 : spec.channels - spec.channels / spec.group;
    const int rail = (spec.channels + spec.group - 1) / spec.group;
    const WideTime queued = std::max(0, inside - 1) *
                            (WireTime(paths.inside, ring.bytes, transport) + acks(paths.inside));
    const WideTime passing = ring.crossings * hop(paths.across) +
                             (ring.rounds - ring.crossings) * hop(paths.inside) -
                             acks(paths.across) + queued + ring.passing;
    return NarrowTime(std::max({passing,
                                port(paths.across, rail),
                                inside > 0 ? port(paths.inside, inside) : WideTime{0}}));
}

TimeNs FlowTime(const UniformPath& path, int64_t payload, const Transport& transport)
{
    if (payload == 0)
    {
        return 0;
    }
    const int64_t wire = transport.WireBytes(payload, path.hops - 1);
    const int64_t first = std::min(wire, transport.FirstFrameBytes(path.hops - 1));
    const int64_t rest = path.hops > 1 ? transport.StreamedBytes(wire - first) : wire - first;
    const WideTime hop = WideTime{path.delay} + SerialisationTime(first, path.rateBps);
    return NarrowTime(path.hops * hop + SerialisationTime(rest, path.rateBps));
}

TimeNs
RingAllReduceTime(int workers, int64_t bytes, const UniformPath& path, const Transport& transport)
{
    if (workers == 1)
    {
        return 0;
    }
    const int64_t chunk = (bytes + workers - 1) / workers;
    return NarrowTime(RingTime(2 * (workers - 1), chunk, path, transport));
}

TimeNs
RingAllGatherTime(int workers, int64_t bytes, const UniformPath& path, const Transport& transport)
{
    return workers == 1 ? 0 : NarrowTime(RingTime(workers - 1, bytes, path, transport));
}

TimeNs
BroadcastTime(int workers, int64_t bytes, const UniformPath& path, const Transport& transport)
{
    const WideTime flow = FlowTime(path, bytes, transport);
    const WideTime acks = AckTime(path, bytes, transport);
    WideTime longest = 0;
    for (int rank = 1; rank < workers; ++rank)
    {
        int steps = 0;
        int holders = 0; // ranks on the way from the root to this one, which is included
        for (int rest = rank; rest > 0; rest /= 2)
        {
            ++steps;
            holders += rest % 2;
        }
        longest = std::max(longest, steps * flow + (holders - 1) * acks);
    }
    return NarrowTime(longest);
}

TimeNs ParameterServerTime(int workers,
                           int64_t pushBytes,
                           int64_t pullBytes,
                           const UniformPath& path,
                           const Transport& transport,
                           TimeNs serve)
{
    if (workers == 1)
    {
        return 0;
    }
    const auto shared = [&](int64_t bytes)
    { return FlowTime(path, bytes, transport) + (workers - 1) * WireTime(path, bytes, transport); };
    // The last push is ACKed before the first pull leaves, while the server works.
    const WideTime acks = pullBytes > 0 ? AckTime(path, pushBytes, transport) : 0;
    const WideTime turn = std::max(acks, WideTime{serve});
    return NarrowTime(shared(pushBytes) + turn + shared(pullBytes));
}

} // namespace legacy::fabric
