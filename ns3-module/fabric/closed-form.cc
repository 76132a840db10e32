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

/// `rounds` dependent rounds of messages of `bytes`: the next leaves when the last has arrived and
/// the card has sent its own message and the ACKs.
TimeNs RingTime(int rounds, int64_t bytes, const UniformPath& path, const Transport& transport)
{
    const TimeNs flow = FlowTime(path, bytes, transport);
    const TimeNs card = WireTime(path, bytes, transport) + AckTime(path, bytes, transport);
    return (rounds - 1) * std::max(flow, card) + flow;
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
    int steps = 0; // ceil(log2(workers))
    while (int64_t{1} << steps < workers)
    {
        ++steps;
    }
    return steps * FlowTime(path, bytes, transport);
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
    return shared(pushBytes) + shared(pullBytes);
}

} // namespace legacy::fabric
