// ARC-Top-K on a GPU writes the messages of schemes/matrices/arc.h to the bit, for many units at
// once, and for all workers but the first kernel:
//
//   Feed     e = g + r, or a copy of g; whole units go to their messages    12 bytes an element
//   Sketch   e V, in the CPU's order                                        4 read
//   Rows     the mean sketch, and the squares of its rows                   4 a number
//   Choose   the rows with the largest norms                                12 a row
//   Gather   copies these rows to the messages, and clears them             12 of what is sent
//   Mean     divides the sums of rows and of whole units                    4 written, 4 of sent
//
// V is drawn on the host, whose logarithms and cosines have other last bits than a GPU's. Sixteen
// threads take a row. Nothing waits for the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/vectors.h"
#include "compress/cuda/kernels/selection/largest_block.h"
#include "compress/cuda/kernels/transforms/arc_table.h"

namespace legacy::cuda {

// Pointers are to device memory.
struct ArcArrays {
  float* values = nullptr;          // e of worker 0, and what is left of it
  int64_t values_stride = 0;        // floats from a worker to the next
  const int32_t* active = nullptr;  // workers of the slots
  int32_t slots = 1;
  const float* draws = nullptr;   // V of all matrices, one vector after the other
  float* sketches = nullptr;      // of the first slot
  int64_t sketch_stride = 0;      // floats from a slot to the next
  double* squares = nullptr;      // of each row of the mean sketches
  uint32_t* ranks = nullptr;      // of each row: its number among those that are sent
  uint32_t* positions = nullptr;  // of each row that is sent: its number in the matrix
  std::byte* messages = nullptr;  // of the first slot, whose headers are not written
  int64_t stride = 0;             // bytes from a slot to the next
  float* mean = nullptr;          // flat buffer
  uint32_t* overflows = nullptr;  // of each unit, becomes 1 if a mean has NaN or infinities
};

struct ArcFeed {
  static constexpr int kThreads = 256;
  struct Args {
    ArcVectors vectors;
    const float* gradient;
    float* values;         // of the worker
    std::byte* messages;   // of the worker's slot
    uint32_t* non_finite;  // of each unit, becomes 1
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.vectors.tiles, block.index(), kTile);
    const ArcUnit& unit = args.vectors.units[tile.segment];
    const float* const gradient = args.gradient + tile.offset;
    float* const values = args.values + tile.offset;
    std::byte* const message = args.messages + unit.values;
    block.ForEachThread([&](int thread) {
      bool finite = true;
      LEGACY_UNROLL_SOME
      for (int64_t i = tile.begin + thread; i < tile.end; i += kThreads) {
        const float e = unit.keeps != 0 ? values[i] + gradient[i] : gradient[i];
        finite = finite && cpu::IsFinite(e);
        if (unit.rows > 0) {
          values[i] = e;
        } else {
          StoreAligned(e, message + i * static_cast<int64_t>(sizeof(float)));
          if (unit.keeps != 0) values[i] = 0;
        }
      }
      if (!finite) block.AtomicOr(&args.non_finite[tile.segment], 1u);
    });
  }
};

struct ArcSketch {
  static constexpr int kThreads = 256;
  static constexpr int kLanes = 16;    // of a sum, as in low_rank.cc
  static constexpr int kTogether = 4;  // vectors that share a read of the row
  static constexpr int kRows = kThreads / kLanes;
  struct Args {
    ArcVectors vectors;
    ArcArrays arrays;
    int64_t rows;  // of a slot
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    for (int first = 0; first < args.vectors.rank; first += kTogether) {
      typename Block::template PerThread<float> sums[kTogether];
      block.ForEachThread([&](int thread) {
        float own[kTogether] = {};
        Add(block, args, first, thread, own);
        LEGACY_UNROLL
        for (int j = 0; j < kTogether; ++j) sums[j][thread] = own[j];
      });
      LEGACY_UNROLL
      for (int j = 0; j < kTogether; ++j) block.template FoldSum<kLanes>(sums[j]);
      block.ForEachThread([&](int thread) {
        const int64_t at = block.index() * kRows + thread / kLanes;
        if (thread % kLanes != 0 || at >= args.rows * args.arrays.slots) return;
        const Row row = RowOf(args, at % args.rows);
        float* const out =
            args.arrays.sketches + at / args.rows * args.arrays.sketch_stride + row.unit->sketch;
        LEGACY_UNROLL
        for (int j = 0; j < kTogether; ++j) {
          if (first + j < args.vectors.rank) {
            out[int64_t{first + j} * row.unit->rows + row.number] = sums[j][thread];
          }
        }
      });
    }
  }

 private:
  struct Row {
    const ArcUnit* unit;
    uint32_t number;
  };

  static LEGACY_DEVICE Row RowOf(const Args& args, int64_t index) {
    const int32_t matrix = FindSegment(args.vectors.first_row, args.vectors.count, index);
    return {&args.vectors.units[args.vectors.matrices[matrix]],
            static_cast<uint32_t>(index - args.vectors.first_row[matrix])};
  }
  // Sums a lane's products of a row and some vectors.
  template <class Block>
  static LEGACY_DEVICE void Add(const Block& block, const Args& args, int first, int thread,
                                float (&sums)[kTogether]) {
    const int64_t at = block.index() * kRows + thread / kLanes;
    if (at >= args.rows * args.arrays.slots) return;
    const Row row = RowOf(args, at % args.rows);
    const int64_t columns = row.unit->columns;
    const float* const values = args.arrays.values +
                                args.arrays.active[at / args.rows] * args.arrays.values_stride +
                                row.unit->extent.offset + row.number * columns;
    const float* const draws = args.arrays.draws + row.unit->draws + first * columns;
    const int64_t more = args.vectors.rank - first;  // vectors
    LEGACY_UNROLL_SOME
    for (int64_t i = thread % kLanes; i < columns; i += kLanes) {
      const float x = values[i];
      LEGACY_UNROLL
      for (int j = 0; j < kTogether; ++j) {
        if (j < more) sums[j] += x * draws[j * columns + i];
      }
    }
  }
};

struct ArcRows {
  static constexpr int kThreads = 256;
  struct Args {
    ArcVectors vectors;
    ArcArrays arrays;
    int64_t rows;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const ArcArrays& arrays = args.arrays;
      const int64_t at = block.index() * kThreads + thread;
      if (at >= args.rows) return;
      const int32_t matrix = FindSegment(args.vectors.first_row, args.vectors.count, at);
      const int32_t number = args.vectors.matrices[matrix];
      const ArcUnit& unit = args.vectors.units[number];
      const int64_t row = at - args.vectors.first_row[matrix];
      double squares = 0;
      bool finite = true;
      for (int32_t c = 0; c < args.vectors.rank; ++c) {
        const float* const sketch = arrays.sketches + unit.sketch + int64_t{c} * unit.rows + row;
        float sum = 0;
        for (int32_t slot = 0; slot < arrays.slots; ++slot) {
          sum += sketch[slot * arrays.sketch_stride];
        }
        sum /= static_cast<float>(arrays.slots);
        finite = finite && cpu::IsFinite(sum);
        squares += double{sum} * sum;
      }
      arrays.squares[at] = squares;
      if (!finite) block.AtomicOr(&arrays.overflows[number], 1u);
    });
  }
};

struct ArcChoose {
  static constexpr int kThreads = kLargestThreads;
  struct Args {
    ArcVectors vectors;
    ArcArrays arrays;
  };
  struct Shared {
    LargestShared largest;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const ArcUnit& unit = args.vectors.units[args.vectors.matrices[block.index()]];
    uint32_t* const ranks = args.arrays.ranks + unit.first_row;
    uint32_t* const positions = args.arrays.positions + unit.first_kept;
    ChooseLargest(
        block, block.shared().largest, args.arrays.squares + unit.first_row, unit.rows, unit.kept,
        [](uint32_t, bool largest) { return largest; },
        [&](uint32_t i, uint32_t rank) {
          ranks[i] = rank;
          if (rank != kNotSent) positions[rank] = i;
        });
  }
};

// A warp copies a row of a worker.
struct ArcGather {
  static constexpr int kThreads = 256;
  struct Args {
    ArcVectors vectors;
    ArcArrays arrays;
    int64_t kept;  // of a slot
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const ArcArrays& arrays = args.arrays;
      const int64_t at = block.index() * (kThreads / kWarp) + thread / kWarp;
      if (at >= args.kept * arrays.slots) return;
      const int64_t slot = at / args.kept, index = at % args.kept;
      const int32_t matrix = FindSegment(args.vectors.first_kept, args.vectors.count, index);
      const ArcUnit& unit = args.vectors.units[args.vectors.matrices[matrix]];
      const int64_t columns = unit.columns;
      float* const row = arrays.values + arrays.active[slot] * arrays.values_stride +
                         unit.extent.offset + arrays.positions[index] * columns;
      std::byte* const out =
          arrays.messages + slot * arrays.stride + unit.values +
          (index - unit.first_kept) * columns * static_cast<int64_t>(sizeof(float));
      for (int64_t i = thread % kWarp; i < columns; i += kWarp) {
        StoreAligned(row[i], out + i * static_cast<int64_t>(sizeof(float)));
        if (unit.keeps != 0) row[i] = 0;
      }
    });
  }
};

struct ArcMean {
  static constexpr int kThreads = 256;
  struct Args {
    ArcVectors vectors;
    ArcArrays arrays;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.vectors.tiles, block.index(), kTile);
    const ArcArrays& arrays = args.arrays;
    const ArcUnit& unit = args.vectors.units[tile.segment];
    block.ForEachThread([&](int thread) {
      bool finite = true;
      for (int64_t i = tile.begin + thread; i < tile.end; i += kThreads) {
        int64_t sent = i;  // number of the value among those in the message, or -1
        if (unit.rows > 0) {
          const auto at = static_cast<uint32_t>(i);
          const uint32_t row = at / unit.columns;
          const uint32_t rank = arrays.ranks[unit.first_row + row];
          sent = rank == kNotSent ? -1 : int64_t{rank} * unit.columns + (at - row * unit.columns);
        }
        float mean = 0;
        if (sent >= 0) {
          const std::byte* const from =
              arrays.messages + unit.values + sent * static_cast<int64_t>(sizeof(float));
          for (int32_t slot = 0; slot < arrays.slots; ++slot) {
            mean += LoadAligned<float>(from + slot * arrays.stride);
          }
          mean /= static_cast<float>(arrays.slots);
        }
        finite = finite && cpu::IsFinite(mean);
        arrays.mean[tile.offset + i] = mean;
      }
      if (!finite) block.AtomicOr(&arrays.overflows[tile.segment], 1u);
    });
  }
};

// Takes the gradient of one worker; `messages` are those of its slot.
template <class Device>
void LaunchArcFeed(Device& device, const ArcTable& table, const ArcVectors& vectors,
                   const float* gradient, float* values, std::byte* messages,
                   uint32_t* non_finite) {
  device.template Launch<ArcFeed>(table.tiles(), {vectors, gradient, values, messages, non_finite});
}

// Runs both calls of all workers, and writes the mean.
template <class Device>
void LaunchArc(Device& device, const ArcTable& table, const ArcVectors& vectors,
               const ArcArrays& arrays) {
  if (table.matrices() > 0) {
    device.template Launch<ArcSketch>(TilesOf(table.rows() * arrays.slots, ArcSketch::kRows),
                                      {vectors, arrays, table.rows()});
    device.template Launch<ArcRows>(TilesOf(table.rows(), ArcRows::kThreads),
                                    {vectors, arrays, table.rows()});
    device.template Launch<ArcChoose>(table.matrices(), {vectors, arrays});
    device.template Launch<ArcGather>(
        TilesOf(table.kept() * arrays.slots, ArcGather::kThreads / kWarp),
        {vectors, arrays, table.kept()});
  }
  device.template Launch<ArcMean>(table.tiles(), {vectors, arrays});
}

}  // namespace legacy::cuda
