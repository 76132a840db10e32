// The cosine transform of chunks on a GPU writes the messages of codecs/dct_codec.h to the bit, for
// many units at once; values are fp32:
//
//   Select  transforms a chunk and lists its largest coefficients   4 bytes read, 8 of each kept
//   Write   packs positions and values into messages                8 of each kept, and messages
//   Back    adds the coefficients of workers, and transforms back   messages, 4 bytes written
//
// A block takes a chunk, which stays in shared memory. Products are summed in the order of their
// index, as on the CPU. Nothing waits for the device.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/coding/bitpack_kernels.h"
#include "compress/cuda/kernels/transforms/dct_table.h"

namespace legacy::cuda {

// Pointers are to device memory.
struct DctJob {
  DctVectors vectors;
  const float* values = nullptr;  // e, in the flat buffer
  uint32_t* positions = nullptr;  // kept coefficients: positions in their chunks,
  float* kept = nullptr;          // and values
  std::byte* out = nullptr;       // messages, whose headers are not written
};

struct DctReadArrays {
  const std::byte* in = nullptr;  // the first worker's messages
  int64_t stride = 0;             // bytes from a worker to the next
  int32_t workers = 1;
  float divisor = 1;
  float* out = nullptr;  // flat buffer
  // For each worker and unit, becomes 1 if a message is malformed, which makes the sum meaningless;
  // otherwise unchanged. May be null.
  uint32_t* malformed = nullptr;
};

// What kernels over chunks have in common.
template <int kThreads>
struct DctBlock {
  static constexpr int kMost = static_cast<int>(kMostDctChunk * kMostDctChunk);
  struct Shared {
    std::array<float, kMost> chunk, half;
  };

  // Returns the place in the flat buffer of element i of a chunk.
  static LEGACY_DEVICE int64_t PlaceOf(const DctUnit& unit, int64_t chunk, int i) {
    const int64_t across = unit.columns / unit.width;  // chunks of a row of them
    const int64_t row = chunk / across * unit.height + i / unit.width;
    return unit.offset + row * unit.columns + chunk % across * unit.width + i % unit.width;
  }

  // Replaces the chunk by its transform, or its inverse. `along` and `down` are D^T and D, or D and
  // D^T. Synchronises threads before and after.
  template <class Block>
  static LEGACY_DEVICE void Transform(Block& block, Shared& shared, const DctUnit& unit,
                                      const float* along, const float* down) {
    float* const chunk = shared.chunk.data();
    float* const half = shared.half.data();
    block.Sync();
    block.ForEachThread([&](int thread) {
      Multiply(thread, chunk, along, unit.height, unit.width, unit.width, half);
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      if (unit.height > 1) {
        Multiply(thread, down, half, unit.height, unit.height, unit.width, chunk);
        return;
      }
      for (int i = thread; i < unit.width; i += kThreads) chunk[i] = half[i];
    });
    block.Sync();
  }

 private:
  static constexpr int kSide = 4;  // of a tile of a product, which a thread computes

  // Computes a thread's tiles of a product of matrices of rows x depth and depth x columns.
  static LEGACY_DEVICE void Multiply(int thread, const float* a, const float* b, int rows,
                                     int depth, int columns, float* out) {
    const int across = (columns + kSide - 1) / kSide;
    const int tiles = (rows + kSide - 1) / kSide * across;
    for (int tile = thread; tile < tiles; tile += kThreads) {
      const int row = tile / across * kSide, column = tile % across * kSide;
      float sums[kSide][kSide] = {};
      for (int t = 0; t < depth; ++t) {
        float left[kSide], right[kSide];
        LEGACY_UNROLL
        for (int i = 0; i < kSide; ++i) {
          left[i] = a[Within(row + i, rows) * depth + t];
          right[i] = b[t * columns + Within(column + i, columns)];
        }
        LEGACY_UNROLL
        for (int i = 0; i < kSide; ++i) {
          LEGACY_UNROLL
          for (int j = 0; j < kSide; ++j) sums[i][j] += left[i] * right[j];
        }
      }
      LEGACY_UNROLL
      for (int i = 0; i < kSide; ++i) {
        LEGACY_UNROLL
        for (int j = 0; j < kSide; ++j) {
          if (row + i < rows && column + j < columns) {
            out[(row + i) * columns + column + j] = sums[i][j];
          }
        }
      }
    }
  }
  // Tiles at the edge compute the last row or column again, which is not written.
  static LEGACY_DEVICE int Within(int i, int count) { return i < count ? i : count - 1; }
};

struct DctSelect {
  static constexpr int kThreads = 256;
  static constexpr int kDigitBits = 8;
  static_assert(kThreads == 1 << kDigitBits);
  using Dct = DctBlock<kThreads>;
  static constexpr int kRun = Dct::kMost / kThreads;  // neighbours of a thread
  struct Args {
    DctJob job;
  };
  struct Shared {
    Dct::Shared dct;
    std::array<uint32_t, kThreads> counts;
    uint32_t prefix, left;  // digits of the least kept magnitude, and how many of these are kept
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const DctJob& job = args.job;
    auto& shared = block.shared();
    const Tile tile = FindTile(job.vectors.chunks, block.index(), 1);
    const DctUnit& unit = job.vectors.units[tile.segment];
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < unit.size(); i += kThreads) {
        shared.dct.chunk[i] = job.values[Dct::PlaceOf(unit, tile.begin, i)];
      }
    });
    Dct::Transform(block, shared.dct, unit, job.vectors.factors + unit.columns_along,
                   job.vectors.factors + unit.rows_down);
    if (unit.kept < unit.size()) {
      FindLeast(block, unit);
    } else {
      block.ForEachThread([&](int thread) {
        if (thread == 0) shared.prefix = shared.left = 0;
      });
      block.Sync();
    }
    List(block, job, tile, unit);
  }

 private:
  // Finds the least kept magnitude, digit by digit.
  template <class Block>
  static LEGACY_DEVICE void FindLeast(Block& block, const DctUnit& unit) {
    auto& shared = block.shared();
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      shared.prefix = 0;
      shared.left = static_cast<uint32_t>(unit.kept);
    });
    for (int shift = kSignWordBits - kDigitBits; shift >= 0; shift -= kDigitBits) {
      block.ForEachThread([&](int thread) { shared.counts[thread] = 0; });
      block.Sync();
      const uint32_t prefix = shared.prefix;
      block.ForEachThread([&](int thread) {
        for (int i = thread; i < unit.size(); i += kThreads) {
          const uint32_t key = cpu::KeyOf(shared.dct.chunk[i]);
          // All digits before this one are those of the prefix.
          if (shift + kDigitBits < kSignWordBits && (key ^ prefix) >> (shift + kDigitBits) != 0) {
            continue;
          }
          block.AtomicAdd(&shared.counts[key >> shift & (kThreads - 1)], 1u);
        }
      });
      block.Sync();
      typename Block::template PerThread<uint32_t> above;
      block.ForEachThread(
          [&](int thread) { above[thread] = shared.counts[kThreads - 1 - thread]; });
      block.ExclusiveSum(above);
      const uint32_t left = shared.left;
      block.Sync();
      block.ForEachThread([&](int thread) {
        const uint32_t own = shared.counts[kThreads - 1 - thread];
        if (above[thread] >= left || above[thread] + own < left) return;
        shared.prefix = prefix | static_cast<uint32_t>(kThreads - 1 - thread) << shift;
        shared.left = left - above[thread];
      });
      block.Sync();
    }
  }

  // Lists the kept coefficients in order: those above the least, and the first of those equal to
  // it.
  template <class Block>
  static LEGACY_DEVICE void List(Block& block, const DctJob& job, const Tile& tile,
                                 const DctUnit& unit) {
    auto& shared = block.shared();
    const bool all = unit.kept == unit.size();
    const uint32_t least = shared.prefix, left = shared.left;
    const auto key_at = [&](int i) { return cpu::KeyOf(shared.dct.chunk[i]); };
    typename Block::template PerThread<uint32_t> equal, rank;
    block.ForEachThread([&](int thread) {
      equal[thread] = 0;
      for (int i = thread * kRun; i < (thread + 1) * kRun && i < unit.size(); ++i) {
        equal[thread] += key_at(i) == least ? 1 : 0;
      }
    });
    block.ExclusiveSum(equal);
    block.ForEachThread([&](int thread) {
      rank[thread] = 0;
      uint32_t seen = equal[thread];
      for (int i = thread * kRun; i < (thread + 1) * kRun && i < unit.size(); ++i) {
        rank[thread] += all || IsKept(key_at(i), least, left, seen) ? 1 : 0;
      }
    });
    block.ExclusiveSum(rank);
    block.ForEachThread([&](int thread) {
      int64_t at = unit.first_kept + tile.begin * unit.kept + rank[thread];
      uint32_t seen = equal[thread];
      for (int i = thread * kRun; i < (thread + 1) * kRun && i < unit.size(); ++i) {
        if (!all && !IsKept(key_at(i), least, left, seen)) continue;
        job.positions[at] = static_cast<uint32_t>(i);
        job.kept[at++] = shared.dct.chunk[i];
      }
    });
  }
  // `seen` counts the equal ones so far.
  static LEGACY_DEVICE bool IsKept(uint32_t key, uint32_t least, uint32_t left, uint32_t& seen) {
    return key > least || (key == least && seen++ < left);
  }
  static constexpr int kSignWordBits = 32;
};

// Runs a thread for each word of the payloads.
struct DctWrite {
  static constexpr int kThreads = 256;
  struct Args {
    DctJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const DctJob& job = args.job;
    const Tile tile = FindTile(job.vectors.words, block.index(), kTile);
    const DctUnit& unit = job.vectors.units[tile.segment];
    std::byte* const payload = job.out + unit.message + kExtendedHeaderBytes;
    const uint32_t* const positions = job.positions + unit.first_kept;
    const float* const kept = job.kept + unit.first_kept;
    const int64_t values = 4 * unit.all_kept();
    block.ForEachThread([&](int thread) {
      for (int64_t word = tile.begin + thread; word < tile.end; word += kThreads) {
        uint32_t bits = 0;
        if (kWordBytes * word < unit.position_bytes) bits = PositionWord(unit, positions, word);
        for (int j = 0; j < kWordBytes; ++j) {
          const int64_t byte = kWordBytes * word + j - unit.position_bytes;
          if (byte < 0 || byte >= values) continue;
          const auto number = std::bit_cast<uint32_t>(kept[byte / 4]);
          bits |= (number >> 8 * (byte % 4) & 0xFF) << 8 * j;
        }
        StoreWord(payload, unit.PayloadBytes(), word, bits);
      }
    });
  }

 private:
  // Returns a word of the packed positions; so many words as a position has bits hold 32 of them.
  static LEGACY_DEVICE uint32_t PositionWord(const DctUnit& unit, const uint32_t* positions,
                                             int64_t word) {
    const int64_t first = word / unit.width_of_position * kWordBits;
    const int64_t rest = unit.all_kept() - first;
    return PackedWord(static_cast<uint32_t>(word % unit.width_of_position),
                      static_cast<uint32_t>(unit.width_of_position),
                      static_cast<uint32_t>(rest < kWordBits ? rest : kWordBits),
                      [&](uint32_t i) -> uint32_t { return positions[first + i]; });
  }
};

// Adds what messages say, and subtracts it from `out` or writes the mean there.
template <bool kSubtract>
struct DctBack {
  static constexpr int kThreads = 256;
  static constexpr uint32_t kLargestKey = cpu::KeyOf(0x1p111f);  // of a coefficient
  using Dct = DctBlock<kThreads>;
  struct Args {
    DctVectors vectors;
    DctReadArrays arrays;
    int32_t units;
  };
  struct Shared {
    Dct::Shared dct;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    auto& shared = block.shared();
    const Tile tile = FindTile(args.vectors.chunks, block.index(), 1);
    const DctUnit& unit = args.vectors.units[tile.segment];
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < unit.size(); i += kThreads) shared.dct.chunk[i] = 0;
    });
    for (int32_t w = 0; w < args.arrays.workers; ++w) Add(block, args, tile, unit, w);
    Dct::Transform(block, shared.dct, unit, args.vectors.factors + unit.rows_along,
                   args.vectors.factors + unit.columns_down);
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < unit.size(); i += kThreads) {
        float& out = args.arrays.out[Dct::PlaceOf(unit, tile.begin, i)];
        const float x = 0.0f + shared.dct.chunk[i];
        out = kSubtract ? out - x : x / args.arrays.divisor;
      }
    });
  }

 private:
  // Adds a worker's coefficients, whose positions differ.
  template <class Block>
  static LEGACY_DEVICE void Add(Block& block, const Args& args, const Tile& tile,
                                const DctUnit& unit, int32_t worker) {
    auto& shared = block.shared();
    const std::byte* const payload =
        args.arrays.in + worker * args.arrays.stride + unit.message + kExtendedHeaderBytes;
    const int64_t first = tile.begin * unit.kept;
    const int width = unit.width_of_position;
    const auto position_at = [&](int i) -> uint32_t {
      if (width == 0) return static_cast<uint32_t>(i);
      return LoadCode(payload, unit.PayloadBytes(), (first + i) * width, width);
    };
    block.Sync();
    block.ForEachThread([&](int thread) {
      bool wrong = thread == 0 && tile.begin == 0 && width > 0 &&
                   HasPadding(payload, unit.all_kept(), width);
      for (int i = thread; i < unit.kept; i += kThreads) {
        const uint32_t position = position_at(i);
        const int64_t byte = unit.position_bytes + 4 * (first + i);
        const auto value =
            std::bit_cast<float>(LoadCode(payload, unit.PayloadBytes(), 8 * byte, kWordBits));
        wrong =
            wrong || cpu::KeyOf(value) > kLargestKey || (i > 0 && position <= position_at(i - 1));
        if (position >= static_cast<uint32_t>(unit.size())) {
          wrong = true;
        } else {
          shared.dct.chunk[position] += value;
        }
      }
      if (wrong && args.arrays.malformed) {
        block.AtomicOr(&args.arrays.malformed[worker * args.units + tile.segment], 1u);
      }
    });
  }
};

inline DctJob LayOutDct(const DctTable& table, const DctVectors& vectors, const float* values,
                        std::byte* out, Workspace& workspace) {
  return {.vectors = vectors,
          .values = values,
          .positions = workspace.Take<uint32_t>(table.kept()),
          .kept = workspace.Take<float>(table.kept()),
          .out = out};
}

// Writes the messages.
template <class Device>
void LaunchDct(Device& device, const DctTable& table, const DctJob& job) {
  device.template Launch<DctSelect>(table.chunks(), {job});
  device.template Launch<DctWrite>(table.word_tiles(), {job});
}
// Subtracts what one worker's messages say from `out`.
template <class Device>
void LaunchDctSubtract(Device& device, const DctTable& table, const DctVectors& vectors,
                       const DctReadArrays& arrays) {
  device.template Launch<DctBack<true>>(table.chunks(), {vectors, arrays, table.count()});
}
// Writes the sum of all workers' messages, divided by `divisor`, to `out`.
template <class Device>
void LaunchDctDecode(Device& device, const DctTable& table, const DctVectors& vectors,
                     const DctReadArrays& arrays) {
  device.template Launch<DctBack<false>>(table.chunks(), {vectors, arrays, table.count()});
}

}  // namespace legacy::cuda
