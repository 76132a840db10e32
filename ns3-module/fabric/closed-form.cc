#include "closed-form.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

TimeNs WireTime(const UniformPath& path, int64_t payload, const Transport& transport)
{
    return SerialisationTime(transport.WireBytes(payload), path.rateBps);
}

TimeNs AckTime(const UniformPath& path, int64_t payload, const Transport& transport)
{
    return SerialisationTime(transport.AckWireBytes(payload), path.rateBps);
}

/// `rounds` dependent rounds of messages of `bytes`.
TimeNs RingTime(int rounds, int64_t bytes, const UniformPath& path, const Transport& transport)
{
    return rounds * FlowTime(path, bytes, transport) +
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
    const int64_t first = std::min(wire, transport.FrameBytes());
    return path.hops * (path.delay + SerialisationTime(first, path.rateBps)) +
           SerialisationTime(wire - first, path.rateBps);
}

TimeNs
RingAllReduceTime(int workers, int64_t bytes, const UniformPath& path, const Transport& transport)
{
    if (workers == 1)
    {
        return 0;
    }
    return RingTime(2 * (workers - 1), (bytes + workers - 1) / workers, path, transport);
}

TimeNs
RingAllGatherTime(int workers, int64_t bytes, const UniformPath& path, const Transport& transport)
{
    return workers == 1 ? 0 : RingTime(workers - 1, bytes, path, transport);
}

TimeNs
BroadcastTime(int workers, int64_t bytes, const UniformPath& path, const Transport& transport)
{
    const TimeNs flow = FlowTime(path, bytes, transport);
    const TimeNs acks = AckTime(path, bytes, transport);
    TimeNs longest = 0;
    for (int rank = 1; rank < workers; ++rank)
    {
        int steps = 0;
        int holders = 0; // ranks between the root and this one, both without the root
        for (int rest = rank; rest > 0; rest /= 2)
        {
            ++steps;
            holders += rest % 2;
        }
        longest = std::max(longest, steps * flow + (holders - 1) * acks);
    }
    return longest;
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
    const TimeNs turn = pullBytes > 0 ? AckTime(path, pushBytes, transport) : 0;
    return shared(pushBytes) + turn + shared(pullBytes);
}

} // namespace legacy::fabric
