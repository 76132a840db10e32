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

} // namespace legacy::fabric
