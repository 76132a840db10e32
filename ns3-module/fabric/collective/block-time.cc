// The closed form of a block-sparse sum.
#include "block-plan.h"
#include "closed-form-parts.h"

namespace legacy::fabric
{

WideTime
BlockSparseTime(const CollectiveSpec& spec, const UniformPath& path, const Transport& transport)
{
    const BlockPlan plan(spec);
    const auto workers = static_cast<int>(spec.bytes.size());
    const int senders = workers - (plan.Colocated() ? 1 : 0);
    const int receivers = plan.Aggregators() - (plan.Colocated() ? 1 : 0);
    const int sharing = std::max(senders, receivers);
    const int64_t pieces = plan.Pieces(0);
    int64_t up = 0;
    for (int worker = 0; worker < workers; ++worker)
    {
        up = std::max(up, BalancedBlock(plan.Up(worker, 0), pieces, 0));
    }
    const int64_t down = BalancedBlock(plan.Down(0), pieces, 0);
    const auto wire = [&](int64_t bytes) { return WireTime(path, bytes, transport); };
    const auto acks = [&](int64_t bytes) { return AckTime(path, bytes, transport); };
    const WideTime one = wire(up) + acks(down);
    const WideTime other = wire(down) + acks(up);
    // A worker that aggregates sends and receives both.
    const WideTime turn = sharing * (plan.Colocated() ? one + other : std::max(one, other));
    const WideTime trip = WideTime{FlowTime(path, up, transport)} + (sharing - 1) * wire(up) +
                          FlowTime(path, down, transport) + (sharing - 1) * wire(down);
    const WideTime streamed = trip + (pieces - 1) * turn;
    return std::max(streamed, plan.Rounds() * trip);
}

} // namespace legacy::fabric
