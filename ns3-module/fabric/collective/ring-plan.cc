#include "ring-plan.h"

#include "base.h"
#include "base/error.h"
#include "gpus.h"

#include <algorithm>

namespace legacy::fabric
{

RingPlan::RingPlan(const CollectiveSpec& spec)
    : m_spec(spec),
      m_costs(CostsFor(spec)),
      m_workers(static_cast<int>(spec.bytes.size())),
      m_order(m_workers, spec.group, spec.channels)
{
    m_spec.group = std::max(1, m_spec.group); // one channel without a protocol takes any group
    while (Rounds() >> m_roundBits != 0)
    {
        ++m_roundBits;
    }
    if (m_costs.chunkBytes == 0)
    {
        return;
    }
    const int64_t mostTurns = int64_t{1} << std::min(20, kChannelShift - m_roundBits);
    int64_t block =
        BalancedBlock(*std::max_element(spec.bytes.begin(), spec.bytes.end()), spec.channels, 0);
    if (spec.algorithm != CollectiveAlgorithm::RingAllGather)
    {
        block = BalancedBlock(block, m_workers, 0);
    }
    const int64_t turns =
        std::max<int64_t>(1, (block + m_costs.chunkBytes - 1) / m_costs.chunkBytes);
    if (turns > mostTurns)
    {
        throw Error(std::string(ToString(spec.algorithm)) + ": chunks of " +
                        ToString(spec.protocol),
                    std::to_string(turns),
                    "at most " + std::to_string(mostTurns) + "; other protocols have larger ones");
    }
    m_turns = static_cast<int>(turns);
}

ProtocolCosts RingPlan::CostsFor(const CollectiveSpec& spec)
{
    const auto workers = static_cast<int64_t>(spec.bytes.size());
    if (spec.group >= workers)
    {
        return CostsOf(ProtocolFamily::Ring, spec.protocol);
    }
    ProtocolCosts costs = CostsOf(ProtocolFamily::NodesRing, spec.protocol);
    const GpuLimits& limits = LimitsOf(spec.gpus);
    if (spec.protocol != Protocol::None)
    {
        costs.inside = std::max(
            costs.inside, limits.networkOverhead * (spec.protocol == Protocol::Simple ? 3 : 1));
    }
    if (spec.group == 1)
    {
        costs.across = CostsOf(ProtocolFamily::Tree, spec.protocol).across;
    }
    constexpr int64_t kLeastOfPlateau = 64; // bytes of a block of a channel
    if (spec.protocol == Protocol::Simple && spec.algorithm == CollectiveAlgorithm::RingAllReduce &&
        spec.bytes[0] / (spec.channels * workers) >= kLeastOfPlateau)
    {
        for (TimeNs* time : {&costs.start, &costs.inside, &costs.across})
        {
            *time = RoundedTime(static_cast<double>(*time) * limits.plateau);
        }
    }
    return costs;
}

int RingPlan::Rounds() const
{
    return (m_spec.algorithm == CollectiveAlgorithm::RingAllReduce ? 2 : 1) * (m_workers - 1);
}

int64_t RingPlan::BlockOf(int channel, int turn, int position) const
{
    const auto part = [&](int64_t bytes)
    { return BalancedBlock(BalancedBlock(bytes, m_spec.channels, channel), m_turns, turn); };
    if (m_spec.algorithm == CollectiveAlgorithm::RingAllReduce)
    {
        return BalancedBlock(part(m_spec.bytes[0]), m_workers, position);
    }
    if (m_spec.algorithm == CollectiveAlgorithm::RingAllGather)
    {
        return part(m_spec.bytes[m_order.WorkerAt(channel, position)]);
    }
    // A ring leaves block i + 1 at member i, but a reduce-scatter must leave block w at worker w.
    const int keeper = m_order.WorkerAt(channel, (position + m_workers - 1) % m_workers);
    return part(BalancedBlock(m_spec.bytes[0], m_workers, keeper));
}

Ring RingPlan::MakeRing(int channel, int turn) const
{
    std::vector<int64_t> blocks(m_workers);
    for (int position = 0; position < m_workers; ++position)
    {
        blocks[position] = m_costs.Sent(BlockOf(channel, turn, position));
    }
    return Ring(std::move(blocks), Rounds());
}

int64_t RingPlan::LargestMessage() const
{
    int64_t largest = 0;
    for (int position = 0; position < m_workers; ++position)
    {
        largest = std::max(largest, BlockOf(0, 0, position));
    }
    return m_costs.Sent(largest);
}

} // namespace legacy::fabric
