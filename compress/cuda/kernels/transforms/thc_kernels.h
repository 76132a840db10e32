// THC on a GPU writes the messages of schemes/thc.h to the bit, for many units and workers at once:
//
//   Norm     sums squares, and finds the largest magnitude                 4 bytes read
//   Encode   rotates windows of the values, rounds them, and packs what    4 bytes read, numbers
//            travels; rotates back what receivers decode, and subtracts it  written; 8 more
//   Decode   adds the numbers of all workers, and rotates them back        numbers read, 4 written
//
// A window is in shared memory from the first rotation to the last: the norm, by which values are
// scaled, is known before. Nothing waits for the device.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "compress/cpu/stochastic.h"
#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/coding/bitpack_kernels.h"
#include "compress/cuda/kernels/transforms/thc_table.h"
#include "compress/cuda/kernels/vector_kernels.h"

namespace legacy::cuda {

// Larger norms are those of vectors that are refused. Their codes are those of zeros.
inline constexpr float kLargestThcNorm = 0x1p117f;

// Pointers are to device memory; units follow each other, and so do workers.
struct ThcJob {
  ThcVectors vectors;
  float* values = nullptr;           // of worker 0; what is left of them, if there is feedback
  int64_t values_stride = 0;         // floats from a worker to the next
  const int32_t* active = nullptr;   // workers of the slots
  const double* squares = nullptr;   // ||e||^2 of each unit of each slot
  const StreamKey* signs = nullptr;  // streams of the signs of each unit
  const cpu::DrawSource* draws = nullptr;  // of each unit of each slot
  std::byte* out = nullptr;  // messages of the first slot, whose headers are not written
  int64_t out_stride = 0;    // bytes from a slot to the next
  int32_t units = 0;
  int32_t slots = 0;
  bool feedback = false;
};

struct ThcReadArrays {
  const std::byte* in = nullptr;  // messages of the first slot
  int64_t stride = 0;             // bytes from a slot to the next
  int32_t slots = 1;
  const double* squares = nullptr;   // as above
  const StreamKey* signs = nullptr;  // as above
  float* out = nullptr;              // flat buffer
  // For each slot and unit, becomes 1 if a message has numbers that no encoder writes; otherwise
  // unchanged.
  uint32_t* malformed = nullptr;
};

// Sums the squares of blocks as SumBlocks does, and finds the largest |x| as bits.
struct ThcNorm {
  static constexpr int kThreads = kSumsPerTile * kWarp;
  struct Args {
    Segments segments;
    const float* values;
    double* sums;
    uint32_t* largest;  // one per segment
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.segments, block.index(), kTile);
    typename Block::template PerThread<double> sum;
    typename Block::template PerThread<uint32_t> most;
    block.ForEachThread([&](int thread) {
      const int64_t begin = tile.begin + thread / kWarp * cpu::kSumBlock;
      const int64_t rest = tile.end - begin;
      const int64_t n = rest < cpu::kSumBlock ? rest : cpu::kSumBlock;
      const float* const values = args.values + tile.offset + begin;
      sum[thread] = 0;
      most[thread] = 0;
      LEGACY_UNROLL_SOME
      for (int64_t i = thread % kWarp; i < n; i += kWarp) {
        const uint32_t key = cpu::KeyOf(values[i]);
        most[thread] = most[thread] < key ? key : most[thread];
        sum[thread] += Square::Of(values[i]);
      }
    });
    block.FoldSum(sum);
    const uint32_t largest = block.Max(most);
    block.ForEachThread([&](int thread) {
      if (thread == 0) block.AtomicMax(&args.largest[tile.segment], largest);
      if (thread % kWarp != 0) return;
      args.sums[block.index() * kSumsPerTile + thread / kWarp] = sum[thread];
    });
  }
};

// Returns the largest norm of a unit among the slots' vectors, in all threads; 0 if it is too
// large.
template <class Block>
LEGACY_DEVICE float LargestThcNorm(Block& block, const double* squares, int32_t slots,
                                   int32_t units, int32_t unit) {
  typename Block::template PerThread<uint32_t> most;
  block.ForEachThread([&](int thread) {
    most[thread] = 0;
    for (int32_t slot = thread; slot < slots; slot += Block::kThreads) {
      const double square = squares[int64_t{slot} * units + unit];
      const auto norm = std::bit_cast<uint32_t>(static_cast<float>(std::sqrt(square)));
      most[thread] = most[thread] < norm ? norm : most[thread];
    }
  });
  const auto largest = std::bit_cast<float>(block.Max(most));
  return largest <= kLargestThcNorm ? largest : 0.0f;
}

// Returns the standard deviation of rotated elements of a vector with the norm.
LEGACY_DEVICE double ThcSpread(float norm, int64_t numel) {
  return norm / std::sqrt(static_cast<double>(numel));
}

struct ThcEncode {
  static constexpr int kThreads = 256;
  using Rotation = RotationBlock<kThreads>;
  struct Args {
    ThcJob job;
    int64_t windows;
  };
  struct Shared {
    Rotation::Shared rotation;
    std::array<uint8_t, kRotationWindow> codes;
    std::array<float, 1 << ThcRules::kMostBits> numbers;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const ThcJob& job = args.job;
    auto& shared = block.shared();
    const auto slot = static_cast<int32_t>(block.index() / args.windows);
    const Tile window =
        FindTile(job.vectors.windows, block.index() % args.windows, kRotationWindow);
    const auto length = static_cast<int>(window.end - window.begin);
    Rotation::DrawSigns(block, shared.rotation, job.signs[window.segment], window.begin, length);
    const float norm = LargestThcNorm(block, job.squares, job.slots, job.units, window.segment);
    block.Sync();
    float* const values =
        job.values + job.active[slot] * job.values_stride + window.offset + window.begin;
    if (norm > 0) {
      Rotate(block, job, values, window, norm);
      Round(block, job, window, slot);
    } else {
      block.ForEachThread([&](int thread) {
        for (int i = thread; i < length; i += kThreads) shared.codes[i] = 0;
      });
    }
    block.Sync();
    WriteNumbers(block, job, window, slot);
    if (job.feedback && norm > 0) Subtract(block, job, values, window, norm);
  }

 private:
  // Writes the rotation of the values, divided by the norm, to shared memory.
  template <class Block>
  static LEGACY_DEVICE void Rotate(Block& block, const ThcJob& job, const float* values,
                                   const Tile& window, float norm) {
    auto& shared = block.shared();
    // Values are divided before they are added, so that neither large nor small ones are lost.
    const bool tiny = !(1 / norm <= std::numeric_limits<float>::max());
    const float raise = tiny ? 0x1p100f : 1.0f;
    const float factor = 1 / (norm * raise);
    const auto length = static_cast<int>(window.end - window.begin);
    ForRotatedParts(length, job.vectors.block_log, [&](int first, int n, int log) {
      const float scale = factor * job.vectors.factors[log];
      block.ForEachThread([&](int thread) {
        for (int i = first + thread; i < first + n; i += kThreads) {
          shared.rotation.At(i) =
              Rotation::Flipped(shared.rotation, window.begin, i, values[i] * raise * scale);
        }
      });
      Rotation::Transform(block, shared.rotation, first, n, log);
    });
  }

  // Rounds the rotation. A thread takes the elements of a block of draws.
  template <class Block>
  static LEGACY_DEVICE void Round(Block& block, const ThcJob& job, const Tile& window,
                                  int32_t slot) {
    auto& shared = block.shared();
    const ThcRules& rules = *job.vectors.rules;
    const int64_t numel = job.vectors.units[window.segment].extent.length;
    const cpu::DrawSource& source = job.draws[int64_t{slot} * job.units + window.segment];
    block.ForEachThread([&](int thread) {
      const auto root = static_cast<float>(std::sqrt(static_cast<double>(numel)));
      const auto length = static_cast<int>(window.end - window.begin);
      const int64_t first = window.begin / cpu::kDrawGroup * cpu::kDrawBlocks;
      for (int b = thread; b / cpu::kDrawBlocks * cpu::kDrawGroup < length; b += kThreads) {
        const auto draws = cpu::DrawBlock(source, first + b);
        const int begin =
            b / cpu::kDrawBlocks * static_cast<int>(cpu::kDrawGroup) + b % cpu::kDrawBlocks * 2;
        LEGACY_UNROLL
        for (int j = 0; j < 2 * cpu::kDrawSlices; ++j) {
          const int slice = j / 2, i = begin + slice * cpu::kDrawLanes + j % 2;
          if (i >= length) continue;
          const uint32_t draw = cpu::DrawOfWord(draws[slice / 2 * 2 + j % 2], slice);
          shared.codes[i] = rules.Rounded(shared.rotation.At(i) * root, draw);
        }
      }
    });
  }

  template <class Block>
  static LEGACY_DEVICE void WriteNumbers(Block& block, const ThcJob& job, const Tile& window,
                                         int32_t slot) {
    auto& shared = block.shared();
    const int bits = job.vectors.bits;
    const auto n = static_cast<uint32_t>(window.end - window.begin);
    const int64_t bytes = cpu::PackedBytes(n, bits);
    std::byte* const out = job.out + slot * job.out_stride +
                           job.vectors.units[window.segment].message + ThcVectors::kNumbersAt +
                           window.begin / 8 * bits;
    block.ForEachThread([&](int thread) {
      const auto words = static_cast<uint32_t>((bytes + kWordBytes - 1) / kWordBytes);
      for (auto word = static_cast<uint32_t>(thread); word < words; word += kThreads) {
        StoreWord(out, bytes, word,
                  PackedWord(word, static_cast<uint32_t>(bits), n, [&](uint32_t i) -> uint32_t {
                    const uint8_t code = shared.codes[i];
                    return job.vectors.codes ? code : job.vectors.rules->entries[code];
                  }));
      }
    });
  }

  // Subtracts what receivers decode.
  template <class Block>
  static LEGACY_DEVICE void Subtract(Block& block, const ThcJob& job, float* values,
                                     const Tile& window, float norm) {
    auto& shared = block.shared();
    const ThcRules& rules = *job.vectors.rules;
    const int64_t numel = job.vectors.units[window.segment].extent.length;
    block.ForEachThread([&](int thread) {
      if (thread >= 1 << rules.bits) return;
      shared.numbers[thread] = rules.NumberOf(thread, static_cast<float>(ThcSpread(norm, numel)));
    });
    block.Sync();
    const auto length = static_cast<int>(window.end - window.begin);
    ForRotatedParts(length, job.vectors.block_log, [&](int first, int n, int log) {
      const float factor = job.vectors.factors[log];
      block.ForEachThread([&](int thread) {
        for (int i = first + thread; i < first + n; i += kThreads) {
          shared.rotation.At(i) = shared.numbers[shared.codes[i]] * factor;
        }
      });
      Rotation::Transform(block, shared.rotation, first, n, log);
      block.ForEachThread([&](int thread) {
        for (int i = first + thread; i < first + n; i += kThreads) {
          values[i] -= Rotation::Flipped(shared.rotation, window.begin, i, shared.rotation.At(i));
        }
      });
    });
  }
};

struct ThcDecode {
  static constexpr int kThreads = 256;
  using Rotation = RotationBlock<kThreads>;
  struct Args {
    ThcVectors vectors;
    ThcReadArrays arrays;
    int32_t units;
  };
  struct Shared {
    Rotation::Shared rotation;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    auto& shared = block.shared();
    const Tile window = FindTile(args.vectors.windows, block.index(), kRotationWindow);
    const auto length = static_cast<int>(window.end - window.begin);
    Rotation::DrawSigns(block, shared.rotation, args.arrays.signs[window.segment], window.begin,
                        length);
    const float norm =
        LargestThcNorm(block, args.arrays.squares, args.arrays.slots, args.units, window.segment);
    const int64_t numel = args.vectors.units[window.segment].extent.length;
    const double spread = ThcSpread(norm, numel);
    CheckPadding(block, args, window);
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < length; i += kThreads) {
        const uint32_t sum = SumAt(block, args, window, norm > 0, i);
        shared.rotation.At(i) =
            norm > 0 ? args.vectors.rules->MeanOf(sum, args.arrays.slots, spread) : 0.0f;
      }
    });
    block.Sync();
    float* const out = args.arrays.out + window.offset + window.begin;
    ForRotatedParts(length, args.vectors.block_log, [&](int first, int n, int log) {
      const float factor = args.vectors.factors[log];
      block.ForEachThread([&](int thread) {
        for (int i = first + thread; i < first + n; i += kThreads) {
          shared.rotation.At(i) *= factor;
        }
      });
      Rotation::Transform(block, shared.rotation, first, n, log);
      block.ForEachThread([&](int thread) {
        for (int i = first + thread; i < first + n; i += kThreads) {
          const float x = shared.rotation.At(i);
          // Adding 0 removes -0.
          out[i] = Rotation::Flipped(shared.rotation, window.begin, i, x) + 0.0f;
        }
      });
    });
  }

 private:
  static LEGACY_DEVICE const std::byte* NumbersOf(const Args& args, int32_t unit, int32_t slot) {
    return args.arrays.in + slot * args.arrays.stride + args.vectors.units[unit].message +
           ThcVectors::kNumbersAt;
  }
  template <class Block>
  static LEGACY_DEVICE void Refuse(Block& block, const Args& args, int32_t unit, int32_t slot) {
    if (!args.arrays.malformed) return;
    block.AtomicOr(&args.arrays.malformed[int64_t{slot} * args.units + unit], 1u);
  }
  template <class Block>
  static LEGACY_DEVICE void CheckPadding(Block& block, const Args& args, const Tile& window) {
    const int64_t numel = args.vectors.units[window.segment].extent.length;
    block.ForEachThread([&](int thread) {
      if (window.end != numel) return;
      for (int32_t slot = thread; slot < args.arrays.slots; slot += kThreads) {
        const std::byte* const numbers = NumbersOf(args, window.segment, slot);
        if (HasPadding(numbers, numel, args.vectors.bits)) {
          Refuse(block, args, window.segment, slot);
        }
      }
    });
  }
  // Returns the sum of the entries of element i of the window. If the norm is 0, all must be 0.
  template <class Block>
  static LEGACY_DEVICE uint32_t SumAt(Block& block, const Args& args, const Tile& window,
                                      bool positive, int i) {
    const ThcRules& rules = *args.vectors.rules;
    const int bits = args.vectors.bits;
    const int64_t numel = args.vectors.units[window.segment].extent.length;
    const int64_t bytes = cpu::PackedBytes(numel, bits);
    uint32_t sum = 0;
    for (int32_t slot = 0; slot < args.arrays.slots; ++slot) {
      const std::byte* const numbers = NumbersOf(args, window.segment, slot);
      const uint32_t number = LoadCode(numbers, bytes, (window.begin + i) * bits, bits);
      const bool known = args.vectors.codes || (number <= static_cast<uint32_t>(rules.points) &&
                                                rules.code_of[number] != ThcRules::kNoCode);
      if (!known || (!positive && number != 0)) Refuse(block, args, window.segment, slot);
      sum += args.vectors.codes ? rules.entries[number] : number;
    }
    return sum;
  }
};

// Writes ||e||^2 of each unit of one worker, and the bits of its largest magnitude, which must be 0
// before. `sums` is from LayOutSums().
template <class Device>
void LaunchThcNorms(Device& device, const ThcUnitTable& table, const ThcVectors& vectors,
                    const float* values, double* sums, double* squares, uint32_t* largest) {
  device.template Launch<ThcNorm>(table.segments().tiles(), {vectors.tiles, values, sums, largest});
  device.template Launch<FinishSums>(table.count(), {vectors.tiles, sums, squares});
}

// Writes the messages of all slots, and what they leave if there is feedback.
template <class Device>
void LaunchThcEncode(Device& device, const ThcUnitTable& table, const ThcJob& job) {
  device.template Launch<ThcEncode>(table.windows() * job.slots, {job, table.windows()});
}

// Writes the mean of all slots' messages to `out`.
template <class Device>
void LaunchThcDecode(Device& device, const ThcUnitTable& table, const ThcVectors& vectors,
                     const ThcReadArrays& arrays) {
  device.template Launch<ThcDecode>(table.windows(), {vectors, arrays, table.count()});
}

}  // namespace legacy::cuda
