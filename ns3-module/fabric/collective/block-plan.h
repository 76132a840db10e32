// Aggregators that stream blocks have a shard each of every message, and a number of slots. A slot
// holds one block at a time, so that a worker sends a block only if the sum of the block that had
// its slot before has arrived. Blocks travel in pieces. Internal to fabric/.
#pragma once

#include "base.h"

#include <algorithm>

namespace legacy::fabric
{

/// A BlockPlan cuts the shards of a block-sparse sum into pieces. All messages of a shard have the
/// same number of pieces, which are balanced, as blocks lie anywhere in the vector.
class BlockPlan
{
  public:
    explicit BlockPlan(const CollectiveSpec& spec)
        : m_spec(spec),
          m_aggregators(spec.servers > 0 ? spec.servers : static_cast<int>(spec.bytes.size())),
          m_largest(
              std::max(spec.pullBytes, *std::max_element(spec.bytes.begin(), spec.bytes.end())))
    {
        constexpr int64_t kUsual = 16;
        constexpr int64_t kLeast = 16 << 10;
        constexpr int64_t kMost = 1 << 20;
        constexpr int64_t kFewest = 4; // at least so many pieces keep both directions busy
        const int64_t shard = BalancedBlock(m_largest, m_aggregators, 0);
        const int64_t window = spec.slots * spec.blockBytes;
        const int64_t wanted = spec.pieceBytes > 0
                                   ? spec.pieceBytes
                                   : std::clamp((shard + kUsual - 1) / kUsual, kLeast, kMost);
        m_flying =
            std::clamp((window + wanted - 1) / wanted, std::min(kFewest, spec.slots), spec.slots);
        m_piece = (window + m_flying - 1) / m_flying;
    }

    /// True where the workers themselves are the aggregators.
    bool Colocated() const
    {
        return m_spec.servers == 0;
    }

    int Aggregators() const
    {
        return m_aggregators;
    }

    /// Returns the number of pieces of an aggregator's shard.
    int64_t Pieces(int aggregator) const
    {
        const int64_t shard = BalancedBlock(m_largest, m_aggregators, aggregator);
        return std::max<int64_t>(1, (shard + m_piece - 1) / m_piece);
    }

    /// Returns the number of pieces that fill the slots of an aggregator.
    int64_t Flying() const
    {
        return m_flying;
    }

    /// Returns how often the slots are filled: ceil(blocks / slots).
    int64_t Rounds() const
    {
        return (Pieces(0) + m_flying - 1) / m_flying;
    }

    /// Return the bytes of a worker's message, and of the sum, that an aggregator has.
    int64_t Up(int worker, int aggregator) const
    {
        return BalancedBlock(m_spec.bytes[worker], m_aggregators, aggregator);
    }

    int64_t Down(int aggregator) const
    {
        return BalancedBlock(m_spec.pullBytes, m_aggregators, aggregator);
    }

  private:
    const CollectiveSpec& m_spec;
    int m_aggregators;
    int64_t m_largest; ///< bytes of the longest message or sum
    int64_t m_flying;
    int64_t m_piece; ///< most bytes of a piece of it
};

} // namespace legacy::fabric
