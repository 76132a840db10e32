#include "closed-form.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

WideTime WireTime(const UniformPath& path, int64_t payload, const Transport& transport)
{
    return SerialisationTime(transport.WireBytes(payload), path.rateBps);
}

WideTime AckTime(const UniformPath& path, int64_t payload, const Transport& transport)
{
    return SerialisationTime(transport.AckWireBytes(payload), path.rateBps);
}

/// Returns the time of `rounds` dependent rounds of messages of `bytes`.
WideTime RingTime(int rounds, int64_t bytes, const UniformPath& path, const Transport& transport)
{
    return rounds * WideTime{FlowTime(path, bytes, transport)} +
           (rounds - 1) * AckTime(path, bytes, transport);
}

} // namespace

TimeNs FlowTime(const UniformPath& path, int64_t payload, const Transport& transport)
{
    if (payload == 0)
    {
        return 0;
    }
    const int64_t wire = transport.WireBytes(payload);
    const int64_t first = std::min(wire, transport.FirstFrameBytes());
    const WideTime hop = WideTime{path.delay} + SerialisationTime(first, path.rateBps);
    return NarrowTime(path.hops * hop + SerialisationTime(wire - first, path.rateBps));
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
        int holders = 0; // ranks on the way from the root to this one, which counts too
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
                           const Transport& transport)
{
    if (workers == 1)
    {
        return 0;
    }
    const auto shared = [&](int64_t bytes)
    { return FlowTime(path, bytes, transport) + (workers - 1) * WireTime(path, bytes, transport); };
    // The last push is ACKed before the first pull leaves.
    const WideTime turn = pullBytes > 0 ? AckTime(path, pushBytes, transport) : 0;
    return NarrowTime(shared(pushBytes) + turn + shared(pullBytes));
}

} // namespace legacy::fabric
