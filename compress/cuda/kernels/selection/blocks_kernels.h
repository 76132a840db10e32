// OmniReduce on a GPU writes the messages of schemes/sparse/omnireduce.h to the bit, for many units
// at once:
//
//   Norms    sums the squares of each block, in the CPU's order          4 bytes read
//   Select   chooses the blocks of a unit with the largest norms         12 bytes a block
//   Write    copies them to the message, and clears the residual         8 bytes a value sent
//   Sum      adds the blocks of all workers, as aggregators do           4 read, 4 written, of sent
//   Mean     divides the sums, and writes zeros where nobody has a block 4 written, 4 of sent read
//
// A warp takes a block of up to 1024 values. Lengths of messages depend on the data, and stay in
// device memory: messages have room for the most blocks. Receivers find the blocks of a message by
// the list that the selection left, and check the numbers in the message against it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/vectors.h"
#include "compress/cuda/kernels/selection/blocks_table.h"
#include "compress/cuda/kernels/selection/largest_block.h"
#include "compress/cuda/kernels/vector_kernels.h"

namespace legacy::cuda {

// Pointers are to device memory. Arrays of one worker.
struct BlocksArrays {
  const float* values = nullptr;   // of units without a residual
  float* residual = nullptr;       // of units with one, which includes the gradient
  double* squares = nullptr;       // of each block
  uint32_t* ranks = nullptr;       // of each block: its number among those that are sent
  uint32_t* positions = nullptr;   // of each block that is sent: its number in the unit
  uint32_t* sent = nullptr;        // of each unit: blocks and values that are sent
  std::byte* out = nullptr;        // messages, whose headers lack the number of blocks
  uint32_t* non_finite = nullptr;  // of each unit, becomes 1 if there are NaN or infinities

  LEGACY_DEVICE const float* Of(const BlocksUnit& unit) const {
    return (unit.feeds != 0 ? residual : values) + unit.extent.offset;
  }
};

struct BlocksReadArrays {
  const std::byte* in = nullptr;        // messages of the first slot
  int64_t stride = 0;                   // bytes from a slot to the next
  const uint32_t* ranks = nullptr;      // of all slots
  const uint32_t* positions = nullptr;  // of all slots
  const uint32_t* sent = nullptr;       // of all slots
  int64_t blocks = 0, most_sent = 0;    // of a slot
  int32_t slots = 1;
  float* sums = nullptr;          // flat buffer
  uint32_t* union_of = nullptr;   // of each unit: blocks and values of the sum; initially 0
  float* mean = nullptr;          // flat buffer
  uint32_t* malformed = nullptr;  // of each unit of each slot, becomes 1
};

// A block of a unit, which a warp takes.
struct WarpBlock {
  int32_t unit = -1;  // -1: there is none
  uint32_t number = 0;
};

// Returns the block that a warp takes, or its place among those that can be sent, as `begins` has
// it.
template <class Block>
LEGACY_DEVICE WarpBlock WarpBlockOf(const Block& block, const int64_t* begins, int32_t count,
                                    int thread) {
  const int64_t index = block.index() * (Block::kThreads / kWarp) + thread / kWarp;
  if (index >= begins[count]) return {};
  const int32_t unit = FindSegment(begins, count, index);
  return {unit, static_cast<uint32_t>(index - begins[unit])};
}

struct BlockNorms {
  static constexpr int kThreads = 256;
  struct Args {
    BlocksVectors vectors;
    BlocksArrays arrays;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    typename Block::template PerThread<double> sum;
    const BlocksVectors& vectors = args.vectors;
    block.ForEachThread([&](int thread) {
      sum[thread] = 0;
      const WarpBlock own = WarpBlockOf(block, vectors.first_block, vectors.count, thread);
      if (own.unit < 0) return;
      const BlocksUnit& unit = vectors.units[own.unit];
      const float* const values = args.arrays.Of(unit) + int64_t{own.number} * unit.block;
      sum[thread] = LaneSum<Square>(values, unit.Size(own.number), thread % kWarp);
    });
    block.FoldSum(sum);
    block.ForEachThread([&](int thread) {
      if (thread % kWarp != 0) return;
      const WarpBlock own = WarpBlockOf(block, vectors.first_block, vectors.count, thread);
      if (own.unit < 0) return;
      args.arrays.squares[vectors.first_block[own.unit] + own.number] = sum[thread];
      // Squares of fp32 do not overflow.
      if (!(sum[thread] <= 1e300)) block.AtomicOr(&args.arrays.non_finite[own.unit], 1u);
    });
  }
};

// Chooses the blocks of a unit: those with the largest squares, of equal ones the first; not those
// that are zero, but always the first.
struct BlockSelect {
  static constexpr int kThreads = kLargestThreads;
  struct Args {
    BlocksVectors vectors;
    BlocksArrays arrays;
  };
  struct Shared {
    LargestShared largest;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const BlocksArrays& arrays = args.arrays;
    const BlocksUnit& unit = args.vectors.units[block.index()];
    const double* const squares = arrays.squares + unit.first_block;
    uint32_t* const ranks = arrays.ranks + unit.first_block;
    uint32_t* const positions = arrays.positions + unit.first_sent;
    const auto chosen = [&](uint32_t i, bool largest) {
      return i == 0 || (largest && squares[i] != 0);
    };
    const uint32_t sent = ChooseLargest(block, block.shared().largest, squares, unit.blocks,
                                        unit.kept, chosen, [&](uint32_t i, uint32_t rank) {
                                          ranks[i] = rank;
                                          if (rank != kNotSent) positions[rank] = i;
                                        });
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      StoreAligned(sent, arrays.out + unit.message + BlocksUnit::kCountAt);
      const bool last = sent > 0 && ranks[unit.blocks - 1] != kNotSent;
      const uint32_t missing = last ? unit.block - unit.Size(unit.blocks - 1) : 0;
      arrays.sent[2 * block.index()] = sent;
      arrays.sent[2 * block.index() + 1] = sent * unit.block - missing;
    });
  }
};

// Writes the chosen blocks.
struct BlockWrite {
  static constexpr int kThreads = 256;
  struct Args {
    BlocksVectors vectors;
    BlocksArrays arrays;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const BlocksVectors& vectors = args.vectors;
      const WarpBlock own = WarpBlockOf(block, vectors.first_sent, vectors.count, thread);
      if (own.unit < 0) return;
      const BlocksUnit& unit = vectors.units[own.unit];
      const uint32_t sent = args.arrays.sent[2 * own.unit];
      if (own.number >= sent) return;
      const uint32_t* const positions = args.arrays.positions + unit.first_sent + own.number;
      std::byte* const out =
          args.arrays.out + unit.message + BlocksUnit::kBlocksAt + own.number * unit.BlockBytes();
      const int lane = thread % kWarp;
      if (lane == 0) {
        StoreAligned(own.number + 1 < sent ? positions[1] : uint32_t{kNotSent}, out);
      }
      const int64_t begin = int64_t{positions[0]} * unit.block;
      const float* const values = args.arrays.Of(unit) + begin;
      const uint32_t size = unit.Size(positions[0]);
      for (uint32_t i = lane; i < size; i += kWarp) {
        StoreAligned(values[i], out + kBlockOffsetBytes + i * sizeof(float));
        if (unit.feeds != 0) args.arrays.residual[unit.extent.offset + begin + i] = 0;
      }
    });
  }
};

struct BlockSum {
  static constexpr int kThreads = 256;
  struct Args {
    BlocksVectors vectors;
    BlocksReadArrays arrays;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const BlocksVectors& vectors = args.vectors;
      const WarpBlock own = WarpBlockOf(block, vectors.first_block, vectors.count, thread);
      if (own.unit < 0) return;
      const BlocksUnit& unit = vectors.units[own.unit];
      const uint32_t size = unit.Size(own.number);
      float* const sums = args.arrays.sums + unit.extent.offset + int64_t{own.number} * unit.block;
      const int lane = thread % kWarp;
      bool first = true;
      for (int32_t slot = 0; slot < args.arrays.slots; ++slot) {
        const std::byte* const from = PlaceOf(block, args, own, unit, slot, lane);
        if (from == nullptr) continue;
        for (uint32_t i = lane; i < size; i += kWarp) {
          const float before = first ? 0.0f : sums[i];
          sums[i] = before + LoadAligned<float>(from + kBlockOffsetBytes + i * sizeof(float));
        }
        first = false;
      }
      if (first || lane != 0) return;
      block.AtomicAdd(&args.arrays.union_of[2 * own.unit], 1u);
      block.AtomicAdd(&args.arrays.union_of[2 * own.unit + 1], size);
    });
  }

  // Returns the rank of a block in a slot's message, or kNotSent.
  static LEGACY_DEVICE uint32_t RankOf(const Args& args, const WarpBlock& own,
                                       const BlocksUnit& unit, int32_t slot) {
    return args.arrays.ranks[slot * args.arrays.blocks + unit.first_block + own.number];
  }

 private:
  // Returns the place of the block in a slot's message, or null. Its lane 0 checks the number
  // there.
  template <class Block>
  static LEGACY_DEVICE const std::byte* PlaceOf(Block& block, const Args& args,
                                                const WarpBlock& own, const BlocksUnit& unit,
                                                int32_t slot, int lane) {
    const uint32_t rank = RankOf(args, own, unit, slot);
    if (rank == kNotSent) return nullptr;
    const std::byte* const from = args.arrays.in + slot * args.arrays.stride + unit.message +
                                  BlocksUnit::kBlocksAt + rank * unit.BlockBytes();
    if (lane != 0) return from;
    const int64_t of_unit = int64_t{slot} * args.vectors.count + own.unit;
    const uint32_t* const positions =
        args.arrays.positions + slot * args.arrays.most_sent + unit.first_sent;
    const uint32_t next =
        rank + 1 < args.arrays.sent[2 * of_unit] ? positions[rank + 1] : uint32_t{kNotSent};
    if (LoadAligned<uint32_t>(from) != next) {
      block.AtomicOr(&args.arrays.malformed[of_unit], 1u);
    }
    return from;
  }
};

struct BlockMean {
  static constexpr int kThreads = 256;
  using Args = BlockSum::Args;
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const BlocksVectors& vectors = args.vectors;
      const WarpBlock own = WarpBlockOf(block, vectors.first_block, vectors.count, thread);
      if (own.unit < 0) return;
      const BlocksUnit& unit = vectors.units[own.unit];
      bool present = false;
      for (int32_t slot = 0; slot < args.arrays.slots; ++slot) {
        present = present || BlockSum::RankOf(args, own, unit, slot) != kNotSent;
      }
      const int64_t begin = unit.extent.offset + int64_t{own.number} * unit.block;
      const uint32_t size = unit.Size(own.number);
      for (uint32_t i = thread % kWarp; i < size; i += kWarp) {
        args.arrays.mean[begin + i] =
            present ? args.arrays.sums[begin + i] / static_cast<float>(args.arrays.slots) : 0.0f;
      }
    });
  }
};

// Writes the messages of one worker.
template <class Device>
void LaunchBlocksEncode(Device& device, const BlocksTable& table, const BlocksVectors& vectors,
                        const BlocksArrays& arrays) {
  constexpr int kWarps = BlockNorms::kThreads / kWarp;
  device.template Launch<BlockNorms>(TilesOf(table.blocks(), kWarps), {vectors, arrays});
  device.template Launch<BlockSelect>(table.count(), {vectors, arrays});
  device.template Launch<BlockWrite>(TilesOf(table.sent(), kWarps), {vectors, arrays});
}

// Writes the mean of all slots' messages.
template <class Device>
void LaunchBlocksDecode(Device& device, const BlocksTable& table, const BlocksVectors& vectors,
                        const BlocksReadArrays& arrays) {
  constexpr int kWarps = BlockSum::kThreads / kWarp;
  device.template Launch<BlockSum>(TilesOf(table.blocks(), kWarps), {vectors, arrays});
  device.template Launch<BlockMean>(TilesOf(table.blocks(), kWarps), {vectors, arrays});
}

}  // namespace legacy::cuda
