// EDEN on a GPU writes the messages of codecs/eden_codec.h to the bit, for many units at once:
//
//   Rotate    rotates pieces of the values, and sums their squares     4 bytes read, 4 written
//   Quantise  codes tiles of the rotated values, and sums products     4 bytes read, codes written
//   Subtract  rotates codes back, and subtracts them                   codes and 4 read, 4 written
//   Decode    adds the codes of all workers, and rotates them back     codes read, 4 written
//
// The largest magnitudes, by which values are scaled, are those of LaunchExtremes(). A block takes
// a piece or a tile. The block that ends a unit adds the sums of its pieces or tiles, one after the
// other, as the CPU does. Nothing waits for the device.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "compress/cpu/fft_rules.h"
#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/coding/bitpack_kernels.h"
#include "compress/cuda/kernels/transforms/eden_table.h"
#include "compress/cuda/kernels/vector_kernels.h"

namespace legacy::cuda {

// Pointers are to device memory.
struct EdenArrays {
  const float* values = nullptr;      // e, in the flat buffer
  const uint32_t* largest = nullptr;  // bits of the largest |x| of each unit
  const StreamKey* signs = nullptr;   // streams of the signs of each unit
  std::byte* out = nullptr;           // messages, whose headers are not written
  bool unbiased = false;              // S is that of an unbiased message
};

struct EdenJob {
  EdenVectors vectors;
  EdenArrays arrays;
  float* rotated = nullptr;    // of all units
  double* squares = nullptr;   // of each piece
  double* products = nullptr;  // <c, y> of each tile, then <c, c> of each tile
  double* norms = nullptr;     // ||y||^2 of each unit
  uint32_t* done = nullptr;    // of each unit: pieces that are rotated, then tiles that are coded
  int64_t tiles = 0;
  int32_t units = 0;
};

struct EdenReadArrays {
  const std::byte* in = nullptr;     // the first worker's messages
  const StreamKey* signs = nullptr;  // as above
  int64_t stride = 0;                // bytes from a worker to the next
  int32_t workers = 1;
  float divisor = 1;
  float* out = nullptr;  // flat buffer
  // For each worker and unit, becomes 1 if a message is malformed, which makes the sum meaningless;
  // otherwise unchanged. Not detected is what takes a count of all codes: codes that are too small
  // or too large for any vector.
  uint32_t* malformed = nullptr;
};

// Larger bits are those of NaN, infinity, negative numbers and scales that are too large.
inline constexpr auto kLargestScaleBits = std::bit_cast<uint32_t>(EdenUnit::kLargestScale);

// Adds numbers one after the other, with all threads of a block to read them. Every thread gets the
// sum. `chunk` and `sum` are in shared memory.
template <class Block>
LEGACY_DEVICE double SumInOrder(Block& block, const double* numbers, int64_t count,
                                std::array<double, Block::kThreads>& chunk, double& sum) {
  block.ForEachThread([&](int thread) {
    if (thread == 0) sum = 0;
  });
  for (int64_t begin = 0; begin < count; begin += Block::kThreads) {
    block.Sync();
    block.ForEachThread([&](int thread) {
      if (begin + thread < count) chunk[thread] = block.Fresh(numbers + begin + thread);
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      const auto n =
          static_cast<int>(count - begin < Block::kThreads ? count - begin : Block::kThreads);
      double own = sum;
      for (int i = 0; i < n; ++i) own += chunk[i];
      sum = own;
    });
  }
  block.Sync();
  return sum;
}

// Returns the sum of up to eight sums of blocks, in the order of cpu/vector.h; there are no more in
// a piece or a tile.
LEGACY_DEVICE double FoldBlocks(const std::array<double, 8>& sums) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

LEGACY_DEVICE float EdenFactor(const EdenJob& job, int32_t unit) {
  const uint32_t largest = job.arrays.largest[unit];
  return largest < cpu::kInfinityKey ? cpu::SpectrumScale(std::bit_cast<float>(largest)) : 1.0f;
}

struct EdenRotate {
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = kThreads / kWarp;  // blocks of a piece's sum
  static_assert(kBlocks == 8 && (1 << kRotationLog) == kBlocks * cpu::kSumBlock);
  using Rotation = RotationBlock<kThreads>;
  struct Args {
    EdenJob job;
  };
  struct Shared {
    Rotation::Shared rotation;
    std::array<double, kBlocks> sums;
    std::array<double, kThreads> chunk;
    double sum;
    bool last;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const EdenJob& job = args.job;
    auto& shared = block.shared();
    const RotationPiece piece = job.vectors.pieces[block.index()];
    const EdenUnit& unit = job.vectors.units[piece.unit];
    Rotation::DrawSigns(block, shared.rotation, job.arrays.signs[piece.unit], piece.begin,
                        piece.length());
    block.Sync();
    const float factor = EdenFactor(job, piece.unit) * job.vectors.factors[piece.log];
    const float* const values = job.arrays.values + unit.extent.offset + piece.begin;
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < piece.length(); i += kThreads) {
        shared.rotation.At(i) =
            Rotation::Flipped(shared.rotation, piece.begin, i, values[i] * factor);
      }
    });
    Rotation::Transform(block, shared.rotation, 0, piece.length(), piece.log);
    typename Block::template PerThread<double> square;
    float* const rotated = job.rotated + unit.rotated + piece.begin;
    block.ForEachThread([&](int thread) {
      const int begin = thread / kWarp * static_cast<int>(cpu::kSumBlock);
      const int rest = piece.length() - begin;
      const int n = rest < cpu::kSumBlock ? rest : static_cast<int>(cpu::kSumBlock);
      square[thread] = 0;
      for (int i = thread % kWarp; i < n; i += kWarp) {
        const float y = shared.rotation.At(begin + i);
        rotated[begin + i] = y;
        square[thread] += Square::Of(y);
      }
    });
    block.FoldSum(square);
    block.ForEachThread([&](int thread) {
      if (thread % kWarp == 0) shared.sums[thread / kWarp] = square[thread];
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      if (thread == 0) job.squares[block.index()] = FoldBlocks(shared.sums);
    });
    if (!EndsWork(block, &job.done[piece.unit], 1, unit.pieces, shared.last)) return;
    const double norm =
        SumInOrder(block, job.squares + unit.first_piece, unit.pieces, shared.chunk, shared.sum);
    block.ForEachThread([&](int thread) {
      if (thread == 0) job.norms[piece.unit] = norm;
    });
  }
};

struct EdenQuantise {
  static constexpr int kThreads = static_cast<int>(kSumsPerTile) * kWarp;
  struct Args {
    EdenJob job;
  };
  struct Shared {
    std::array<uint8_t, kTile> codes;
    std::array<float, kEdenCodes> bounds, centroids;
    std::array<double, 8> products, squares;
    std::array<double, kThreads> chunk;
    double sum;
    bool last, zero;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const EdenJob& job = args.job;
    auto& shared = block.shared();
    const Tile tile = FindTile(job.vectors.rotated, block.index(), kTile);
    const EdenUnit& unit = job.vectors.units[tile.segment];
    SetLevels(block, job, tile.segment, unit);
    SumTile(block, job, tile, unit);
    const auto n = static_cast<uint32_t>(tile.end - tile.begin);
    std::byte* const codes = job.arrays.out + unit.message + EdenUnit::kCodesAt;
    WriteCodes(block, codes + tile.begin / 8 * unit.bits, n, unit.bits,
               [&](uint32_t i) -> uint32_t { return shared.codes[i]; });
    const Segments& tiles = job.vectors.rotated;
    const int64_t first = tiles.first_tile[tile.segment];
    const int64_t count = tiles.first_tile[tile.segment + 1] - first;
    if (!EndsWork(block, &job.done[job.units + tile.segment], 1, count, shared.last)) return;
    const double product = SumInOrder(block, job.products + first, count, shared.chunk, shared.sum);
    block.Sync();
    const double square =
        SumInOrder(block, job.products + job.tiles + first, count, shared.chunk, shared.sum);
    block.ForEachThread([&](int thread) {
      if (thread == 0) WriteScale(block, job, tile.segment, unit, product, square);
    });
    block.Sync();
    if (!shared.zero) return;
    const uint32_t middle = 1u << (unit.bits - 1);  // the code of 0
    for (int64_t begin = 0; begin < unit.extent.length; begin += kTile) {
      const int64_t rest = unit.extent.length - begin;
      WriteCodes(block, codes + begin / 8 * unit.bits,
                 static_cast<uint32_t>(rest < kTile ? rest : kTile), unit.bits,
                 [&](uint32_t) -> uint32_t { return middle; });
    }
  }

 private:
  // Sets the bounds of cells and the centroids.
  template <class Block>
  static LEGACY_DEVICE void SetLevels(Block& block, const EdenJob& job, int32_t number,
                                      const EdenUnit& unit) {
    auto& shared = block.shared();
    const double* const centroids = job.vectors.centroids + unit.bits * kEdenCodes;
    const double norm = job.norms[number];
    block.ForEachThread([&](int thread) {
      if (thread >= 1 << unit.bits) return;
      shared.centroids[thread] = static_cast<float>(centroids[thread]);
      if (thread + 1 == 1 << unit.bits) return;
      const double root = std::sqrt(norm / static_cast<double>(unit.extent.length));
      shared.bounds[thread] =
          static_cast<float>((centroids[thread] + centroids[thread + 1]) / 2 * root);
    });
    block.Sync();
  }

  // Codes the tile's values, and writes the sums of products.
  template <class Block>
  static LEGACY_DEVICE void SumTile(Block& block, const EdenJob& job, const Tile& tile,
                                    const EdenUnit& unit) {
    auto& shared = block.shared();
    const float* const rotated = job.rotated + tile.offset + tile.begin;
    typename Block::template PerThread<double> product, square;
    block.ForEachThread([&](int thread) {
      const int begin = thread / kWarp * static_cast<int>(cpu::kSumBlock);
      const auto rest = static_cast<int>(tile.end - tile.begin) - begin;
      const int n = rest < cpu::kSumBlock ? rest : static_cast<int>(cpu::kSumBlock);
      product[thread] = square[thread] = 0;
      for (int i = thread % kWarp; i < n; i += kWarp) {
        const float y = rotated[begin + i];
        uint32_t code = 0;
        for (int j = 0; j + 1 < 1 << unit.bits; ++j) code += y >= shared.bounds[j] ? 1 : 0;
        shared.codes[begin + i] = static_cast<uint8_t>(code);
        const double c = shared.centroids[code];
        product[thread] += c * double{y};
        square[thread] += Square::Of(c);
      }
    });
    block.FoldSum(product);
    block.FoldSum(square);
    block.ForEachThread([&](int thread) {
      if (thread < 8) shared.products[thread] = shared.squares[thread] = 0;
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      if (thread % kWarp != 0) return;
      shared.products[thread / kWarp] = product[thread];
      shared.squares[thread / kWarp] = square[thread];
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      job.products[block.index()] = FoldBlocks(shared.products);
      job.products[job.tiles + block.index()] = FoldBlocks(shared.squares);
    });
  }

  template <class Block, class CodeAt>
  static LEGACY_DEVICE void WriteCodes(Block& block, std::byte* out, uint32_t n, int32_t bits,
                                       CodeAt code_at) {
    const int64_t bytes = cpu::PackedBytes(n, bits);
    block.ForEachThread([&](int thread) {
      const auto words = static_cast<uint32_t>((bytes + kWordBytes - 1) / kWordBytes);
      for (auto word = static_cast<uint32_t>(thread); word < words; word += kThreads) {
        StoreWord(out, bytes, word, PackedWord(word, static_cast<uint32_t>(bits), n, code_at));
      }
    });
  }

  // Writes S, and says whether the message is that of a vector of zeros.
  template <class Block>
  static LEGACY_DEVICE void WriteScale(Block& block, const EdenJob& job, int32_t number,
                                       const EdenUnit& unit, double product, double square) {
    const double norm = job.norms[number];
    float scale = 0;
    if (norm != 0) {
      const double exact = job.arrays.unbiased ? norm / product : product / square;
      scale = static_cast<float>(exact / double{EdenFactor(job, number)});
    }
    StoreAligned(scale, job.arrays.out + unit.message + EdenUnit::kScaleAt);
    block.shared().zero = scale == 0;
  }
};

// Reads messages and rotates them back.
template <bool kSubtract>
struct EdenBack {
  static constexpr int kThreads = 256;
  using Rotation = RotationBlock<kThreads>;
  struct Args {
    EdenVectors vectors;
    EdenReadArrays arrays;
    int32_t units;
  };
  struct Shared {
    Rotation::Shared rotation;
    std::array<float, kEdenCodes> levels;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    auto& shared = block.shared();
    const RotationPiece piece = args.vectors.pieces[block.index()];
    const EdenUnit& unit = args.vectors.units[piece.unit];
    Rotation::DrawSigns(block, shared.rotation, args.arrays.signs[piece.unit], piece.begin,
                        piece.length());
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < piece.length(); i += kThreads) shared.rotation.At(i) = 0;
    });
    for (int32_t w = 0; w < args.arrays.workers; ++w) AddCodes(block, args, piece, unit, w);
    const float factor = args.vectors.factors[piece.log];
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < piece.length(); i += kThreads) shared.rotation.At(i) *= factor;
    });
    Rotation::Transform(block, shared.rotation, 0, piece.length(), piece.log);
    float* const out = args.arrays.out + unit.extent.offset + piece.begin;
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < piece.length(); i += kThreads) {
        const float x = Rotation::Flipped(shared.rotation, piece.begin, i, shared.rotation.At(i));
        out[i] = kSubtract ? out[i] - (0.0f + x) : (0.0f + x) / args.arrays.divisor;
      }
    });
  }

 private:
  // Adds the decoded values of a worker. Each thread adds to the values that it alone writes.
  template <class Block>
  static LEGACY_DEVICE void AddCodes(Block& block, const Args& args, const RotationPiece& piece,
                                     const EdenUnit& unit, int32_t worker) {
    auto& shared = block.shared();
    const std::byte* const message = args.arrays.in + worker * args.arrays.stride + unit.message;
    const std::byte* const codes = message + EdenUnit::kCodesAt;
    const auto scale = LoadAligned<float>(message + EdenUnit::kScaleAt);
    const int64_t bytes = cpu::PackedBytes(unit.extent.length, unit.bits);
    const double* const centroids = args.vectors.centroids + unit.bits * kEdenCodes;
    block.Sync();
    block.ForEachThread([&](int thread) {
      if (thread < 1 << unit.bits) {
        shared.levels[thread] = static_cast<float>(centroids[thread]) * scale;
      }
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      const uint32_t middle = 1u << (unit.bits - 1);
      bool wrong = thread == 0 && piece.begin + piece.length() == unit.extent.length &&
                   (std::bit_cast<uint32_t>(scale) > kLargestScaleBits ||
                    HasPadding(codes, unit.extent.length, unit.bits));
      for (int i = thread; i < piece.length(); i += kThreads) {
        const uint32_t code = LoadCode(codes, bytes, (piece.begin + i) * unit.bits, unit.bits);
        shared.rotation.At(i) += shared.levels[code];
        wrong = wrong || (scale == 0 && code != middle);
      }
      if (wrong && args.arrays.malformed) {
        block.AtomicOr(&args.arrays.malformed[worker * args.units + piece.unit], 1u);
      }
    });
  }
};

inline EdenJob LayOutEden(const EdenTable& table, const EdenVectors& vectors,
                          const EdenArrays& arrays, uint32_t* done, Workspace& workspace) {
  return {.vectors = vectors,
          .arrays = arrays,
          .rotated = workspace.Take<float>(table.elements()),
          .squares = workspace.Take<double>(table.pieces()),
          .products = workspace.Take<double>(2 * table.tiles()),
          .norms = workspace.Take<double>(table.count()),
          .done = done,
          .tiles = table.tiles(),
          .units = table.count()};
}

// Writes the messages. `done` of the job has two zeros for each unit, which are zeros again
// afterwards.
template <class Device>
void LaunchEden(Device& device, const EdenTable& table, const EdenJob& job) {
  device.template Launch<EdenRotate>(table.pieces(), {job});
  device.template Launch<EdenQuantise>(table.tiles(), {job});
}

// Subtracts what one worker's messages say from `out`.
template <class Device>
void LaunchEdenSubtract(Device& device, const EdenTable& table, const EdenVectors& vectors,
                        const EdenReadArrays& arrays) {
  device.template Launch<EdenBack<true>>(table.pieces(), {vectors, arrays, table.count()});
}
// Writes the sum of all workers' messages, divided by `divisor`, to `out`.
template <class Device>
void LaunchEdenDecode(Device& device, const EdenTable& table, const EdenVectors& vectors,
                      const EdenReadArrays& arrays) {
  device.template Launch<EdenBack<false>>(table.pieces(), {vectors, arrays, table.count()});
}

}  // namespace legacy::cuda
