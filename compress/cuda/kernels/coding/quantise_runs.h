// The threads of a block share a tile of values and its codes by runs: each thread has a run of
// eight neighbours, whose codes of `width` bits take `width` whole bytes.
//
// A thread makes one block of Philox, with eight draws for eight elements of its group
// (cpu/stochastic.h). The threads exchange draws through shared memory.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include "compress/cpu/stochastic.h"
#include "compress/cuda/device/vectors.h"
#include "compress/cuda/kernels/coding/bitpack_kernels.h"

namespace legacy::cuda {

inline constexpr int kRun = 8;  // elements per thread
inline constexpr int kRunThreads = kTile / kRun;
inline constexpr int kRunsPerGroup = cpu::kDrawGroup / kRun;
static_assert(kRunsPerGroup == cpu::kDrawBlocks);
inline constexpr int kTileBuckets = kTile / cpu::kDrawGroup;  // largest number per tile

using RunOfFloats = std::array<float, kRun>;
using RunOfCodes = std::array<uint32_t, kRun>;

// Calls body(width) with the width as a constant from kLeast to kMost.
template <int kLeast, int kMost, class Body>
LEGACY_DEVICE void WithWidth(int width, Body body) {
  if constexpr (kLeast == kMost) {
    body(std::integral_constant<int, kLeast>());
  } else if (width == kLeast) {
    body(std::integral_constant<int, kLeast>());
  } else {
    WithWidth<kLeast + 1, kMost>(width, body);
  }
}

// Packs eight codes of kWidth bits in units of memory of kUnit bytes. Element i begins in unit k at
// bit i * kWidth - 8 * kUnit * k, which may be below zero. The first run is aligned to kAlignment.
template <int kWidth, int kAlignment = kWordBytes>
struct PackedRun {
  static constexpr int kUnit = std::gcd(kWidth, kAlignment);
  static constexpr int kUnits = kWidth / kUnit;
  static constexpr int kUnitBits = 8 * kUnit;
  using Unit =
      std::conditional_t<kUnit == 4, uint32_t, std::conditional_t<kUnit == 2, uint16_t, uint8_t>>;

  static LEGACY_DEVICE void Store(const RunOfCodes& codes, std::byte* to) {
    LEGACY_UNROLL
    for (int k = 0; k < kUnits; ++k) {
      uint32_t bits = 0;
      LEGACY_UNROLL
      for (int i = 0; i < kRun; ++i) {
        const int at = i * kWidth - k * kUnitBits;
        if (at <= -kWidth || at >= kUnitBits) continue;
        bits |= at >= 0 ? codes[i] << at : codes[i] >> -at;
      }
      StoreAligned(static_cast<Unit>(bits), to + k * kUnit);
    }
  }
  // Loads the codes of the first `bytes` bytes; later codes become zeros.
  static LEGACY_DEVICE void Load(const std::byte* from, int bytes, RunOfCodes& codes) {
    codes = {};
    LEGACY_UNROLL
    for (int k = 0; k < kUnits; ++k) {
      Unit unit = 0;
      if (bytes >= kWidth) {
        unit = LoadAligned<Unit>(from + k * kUnit);
      } else {
        LEGACY_UNROLL
        for (int b = 0; b < kUnit; ++b) {
          if (k * kUnit + b >= bytes) continue;
          unit |= static_cast<Unit>(static_cast<uint32_t>(from[k * kUnit + b]) << 8 * b);
        }
      }
      LEGACY_UNROLL
      for (int i = 0; i < kRun; ++i) {
        const int at = i * kWidth - k * kUnitBits;
        if (at <= -kWidth || at >= kUnitBits) continue;
        const uint32_t bits = at >= 0 ? uint32_t{unit} >> at : uint32_t{unit} << -at;
        codes[i] |= bits & static_cast<uint32_t>((uint64_t{1} << kWidth) - 1);
      }
    }
  }
};

// A thread's run of a tile: its first element in the part, and its number of elements.
struct RunOfTile {
  int64_t begin;
  int count;

  static LEGACY_DEVICE RunOfTile Of(const Tile& tile, int thread) {
    const int64_t begin = tile.begin + int64_t{thread} * kRun;
    const int64_t rest = tile.end - begin;
    return {begin, static_cast<int>(rest < 0 ? 0 : rest < kRun ? rest : kRun)};
  }
};

LEGACY_DEVICE void LoadRun(const float* from, int count, RunOfFloats& run) {
  if (count == kRun && IsVectorAligned(from)) {
    LoadVector(from, &run[0]);
    LoadVector(from + kVector, &run[kVector]);
    return;
  }
  LEGACY_UNROLL
  for (int i = 0; i < kRun; ++i) run[i] = i < count ? from[i] : 0.0f;
}
LEGACY_DEVICE void StoreRun(const RunOfFloats& run, int count, float* to) {
  if (count == kRun && IsVectorAligned(to)) {
    StoreVector(&run[0], to);
    StoreVector(&run[kVector], to + kVector);
    return;
  }
  LEGACY_UNROLL
  for (int i = 0; i < kRun; ++i) {
    if (i < count) to[i] = run[i];
  }
}

// The draws of a tile's groups.
struct TileDraws {
  std::array<uint32_t, kTileBuckets * cpu::kDrawWords> words;

  LEGACY_DEVICE void Make(const cpu::DrawSource& source, int64_t first, int thread) {
    const auto block = cpu::DrawBlock(source, first / kRun + thread);
    uint32_t* const to =
        &words[thread / kRunsPerGroup * cpu::kDrawWords + thread % kRunsPerGroup * 2];
    to[0] = block[0];
    to[1] = block[1];
    to[cpu::kDrawLanes] = block[2];
    to[cpu::kDrawLanes + 1] = block[3];
  }
  // Returns the draw of element i of a thread's run.
  LEGACY_DEVICE uint32_t Of(int thread, int i) const {
    const int slice = thread % kRunsPerGroup / (cpu::kDrawLanes / kRun);
    const int lane = thread % (cpu::kDrawLanes / kRun) * kRun + i;
    return cpu::SliceOf(&words[thread / kRunsPerGroup * cpu::kDrawWords], slice, lane);
  }
};
struct NoDraws {
  LEGACY_DEVICE void Make(const cpu::DrawSource&, int64_t, int) {}
  LEGACY_DEVICE uint32_t Of(int, int) const { return 0; }
};

// Copies `bytes` bytes of words of shared memory to any address. One word after them must be
// readable.
template <class Block>
LEGACY_DEVICE void FlushBytes(Block& block, const uint32_t* words, int bytes, std::byte* to) {
  const auto misaligned = static_cast<int>(reinterpret_cast<uintptr_t>(to) % kWordBytes);
  const int gap = (kWordBytes - misaligned) % kWordBytes;
  const int head = gap < bytes ? gap : bytes;  // bytes before the first word of `to`
  const int whole = (bytes - head) / kWordBytes;
  const int tail = head + whole * kWordBytes;
  block.ForEachThread([&](int thread) {
    const auto byte = [&](int i) {
      to[i] = static_cast<std::byte>(words[i / kWordBytes] >> 8 * (i % kWordBytes));
    };
    if (thread < head) byte(thread);
    for (int k = thread; k < whole; k += Block::kThreads) {
      const uint64_t both = uint64_t{words[k + 1]} << kWordBits | words[k];
      const auto word = static_cast<uint32_t>(both >> 8 * head);
      StoreAligned(word, to + head + k * kWordBytes);
    }
    if (thread < bytes - tail) byte(tail + thread);
  });
}

}  // namespace legacy::cuda
