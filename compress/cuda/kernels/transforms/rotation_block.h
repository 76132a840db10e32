// Rotations of a piece of a vector by a block (cpu/rotation.h), for all kernels that rotate. A
// piece stays in shared memory. Stages of a Walsh-Hadamard transform may be computed in any
// grouping: sums and differences of a stage do not depend on each other, so that the bits are the
// CPU's.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/random.h"
#include "compress/cuda/device/block.h"

namespace legacy::cuda {

inline constexpr int kRotationLog = 13;  // logarithm of the largest piece, limit of shared memory
inline constexpr int64_t kRotationWindow = int64_t{1} << kRotationLog;
inline constexpr int kSignWord = 32;    // signs of a draw
inline constexpr int kSignDraws = 128;  // signs of a block of draws

// A part of a unit's vector that is transformed at once.
struct RotationPiece {
  int32_t unit = 0;
  int32_t log = 0;    // logarithm of its length
  int64_t begin = 0;  // first element, counted from the unit's beginning

  constexpr int length() const { return 1 << log; }
};

// Calls body(first, length, log) for the pieces of `length` neighbours of a vector that is rotated
// in blocks of 2^block_log: first for all whole blocks at once, then for each piece of the rest.
template <class Body>
LEGACY_DEVICE void ForRotatedParts(int length, int block_log, Body body) {
  int first = length >> block_log << block_log;
  if (first > 0) body(0, first, block_log);
  for (int log = block_log - 1; log >= 0; --log) {
    if ((length >> log & 1) == 0) continue;
    body(first, 1 << log, log);
    first += 1 << log;
  }
}

template <int kThreads>
struct RotationBlock {
  static constexpr int kMost = 1 << kRotationLog;
  static constexpr int kPadding = 32;  // banks; a place is left free after so many elements
  static constexpr int kStages = 4;    // stages of elements that a thread holds

  struct Shared {
    std::array<float, kMost + kMost / kPadding> values;
    std::array<uint32_t, kMost / kSignWord> signs;

    LEGACY_DEVICE float& At(int i) { return values[i + i / kPadding]; }
  };

  // Draws the signs of the elements from `begin` on, which do not begin a new block of draws in
  // between unless `begin` does; the caller synchronises threads.
  template <class Block>
  static LEGACY_DEVICE void DrawSigns(Block& block, Shared& shared, const StreamKey& stream,
                                      int64_t begin, int length) {
    block.ForEachThread([&](int thread) {
      const int blocks = (length + kSignDraws - 1) / kSignDraws;
      for (int b = thread; b < blocks; b += kThreads) {
        const auto draws = StreamBlock(stream, static_cast<uint64_t>(begin / kSignDraws + b));
        LEGACY_UNROLL
        for (int i = 0; i < 4; ++i) shared.signs[b * 4 + i] = draws[i];
      }
    });
  }
  // Returns x with the sign that element begin + i gets.
  static LEGACY_DEVICE float Flipped(const Shared& shared, int64_t begin, int i, float x) {
    const auto at = static_cast<int>(begin % kSignDraws) + i;
    const uint32_t sign = shared.signs[at / kSignWord] >> at % kSignWord << 31;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(x) ^ sign);
  }

  // Transforms pieces of 2^log values in place, `length` values from `first` on, without the
  // factor. Synchronises threads before and after.
  template <class Block>
  static LEGACY_DEVICE void Transform(Block& block, Shared& shared, int first, int length,
                                      int log) {
    block.Sync();
    int done = 0;
    for (; log - done >= kStages; done += kStages) {
      Pass<kStages>(block, shared, first, length, done);
    }
    if (log - done == 3) Pass<3>(block, shared, first, length, done);
    if (log - done == 2) Pass<2>(block, shared, first, length, done);
    if (log - done == 1) Pass<1>(block, shared, first, length, done);
  }

 private:
  // Computes the stages of distances 2^done to 2^(done + stages - 1).
  template <int stages, class Block>
  static LEGACY_DEVICE void Pass(Block& block, Shared& shared, int first, int length, int done) {
    constexpr int kHeld = 1 << stages;
    block.ForEachThread([&](int thread) {
      const int groups = length >> stages;
      for (int g = thread; g < groups; g += kThreads) {
        const int low = g & ((1 << done) - 1);
        const int at = first + (g - low) * kHeld + low;
        std::array<float, kHeld> held;
        LEGACY_UNROLL
        for (int i = 0; i < kHeld; ++i) held[i] = shared.At(at + (i << done));
        LEGACY_UNROLL
        for (int distance = 1; distance < kHeld; distance *= 2) {
          LEGACY_UNROLL
          for (int i = 0; i < kHeld; ++i) {
            if ((i & distance) != 0) continue;
            const float sum = held[i] + held[i + distance];
            held[i + distance] = held[i] - held[i + distance];
            held[i] = sum;
          }
        }
        LEGACY_UNROLL
        for (int i = 0; i < kHeld; ++i) shared.At(at + (i << done)) = held[i];
      }
    });
    block.Sync();
  }
};

}  // namespace legacy::cuda
