// Pipelined collectives cut a message into pieces. Internal to fabric/.
#pragma once

#include "base.h"

#include <algorithm>

namespace legacy::fabric
{

/// Pieces are balanced, and none is empty but the only piece of an empty message.
struct Pieces
{
    /// Cuts pieces of `wanted` bytes each; 0: about 16 pieces, of 16 KiB to 1 MiB.
    Pieces(int64_t bytes, int64_t wanted) : total(bytes)
    {
        constexpr int64_t kUsual = 16;
        constexpr int64_t kLeast = 16 << 10;
        constexpr int64_t kMost = 1 << 20;
        const int64_t piece =
            wanted > 0 ? wanted : std::clamp((bytes + kUsual - 1) / kUsual, kLeast, kMost);
        count = std::max<int64_t>(1, (bytes + piece - 1) / piece);
    }

    int64_t Bytes(int64_t index) const
    {
        return BalancedBlock(total, count, index);
    }

    int64_t total;
    int64_t count;
};

} // namespace legacy::fabric
