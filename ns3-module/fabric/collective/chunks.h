// The chunks in which NCCL's trees pass messages on, by its src/enqueue.cc. Internal to fabric/.
#pragma once

#include "collective.h"

namespace legacy::fabric
{

/// The thread blocks of a channel: NCCL runs each ring or pair of trees that it finds twice, each
/// with half of the bytes, and trees once for each of the two.
inline constexpr int kBlocksOfChannel = 2;

/// The chunks of a connection that fill NCCL's buffer, so that no more are on their way
/// (NCCL_STEPS).
inline constexpr int kBufferSteps = 8;

/// The thread blocks of NVLS, each of which handles its chunks for all heads.
inline constexpr int kBlocksOfNvls = 16;

/// Returns the bytes of a chunk in each of a channel's trees, which are shorter for short messages
/// by LL128; 0 without a protocol.
int64_t TreeChunk(const CollectiveSpec& spec);

/// Returns the bytes of a head's chunks in all thread blocks of NVLS, which are shorter for short
/// messages; 0 without a protocol.
int64_t NvlsChunk(const CollectiveSpec& spec, int nodes, int heads);

} // namespace legacy::fabric
