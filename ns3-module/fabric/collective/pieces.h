// Pipelined collectives cut a message into pieces. Internal to fabric/.
#pragma once

#include "base.h"

#include <algorithm>

namespace legacy::fabric
{

/// Pieces are balanced, and none is empty except the only piece of an empty message.
struct Pieces
{
    /// Cuts pieces of `wanted` bytes each; 0: about 16 pieces, of 16 KiB to 1 MiB. None is larger
    /// than the chunk of a protocol, whose lines carry them.
    Pieces(int64_t bytes, int64_t wanted, const ProtocolCosts& protocol = {1, 1, 0, 0, 0, 0})
        : total(bytes),
          costs(protocol)
    {
        constexpr int64_t kUsual = 16;
        constexpr int64_t kLeast = 16 << 10;
        constexpr int64_t kMost = 1 << 20;
        int64_t piece =
            wanted > 0 ? wanted : std::clamp((bytes + kUsual - 1) / kUsual, kLeast, kMost);
        if (costs.chunkBytes > 0)
        {
            piece = std::min(piece, costs.chunkBytes);
        }
        count = std::max<int64_t>(1, (bytes + piece - 1) / piece);
    }

    int64_t Bytes(int64_t index) const
    {
        return BalancedBlock(total, count, index);
    }

    /// Returns the bytes that are sent for a piece.
    int64_t Sent(int64_t index) const
    {
        return costs.Sent(Bytes(index));
    }

    /// Returns the bytes that are sent for all pieces.
    int64_t SentInAll() const
    {
        const int64_t larger = total % count;
        return larger * costs.Sent(total / count + 1) +
               (count - larger) * costs.Sent(total / count);
    }

    int64_t total;
    int64_t count;
    ProtocolCosts costs;
};

/// A BlockPlan cuts the shards of a block-sparse sum into pieces. Each aggregator has a shard of
/// every message, and a number of slots, each of which holds one block at a time: a worker sends a
/// block only if the sum of the block that had its slot before has arrived. All messages of a shard
/// have the same number of pieces, which are balanced, as blocks lie anywhere in the vector.
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
