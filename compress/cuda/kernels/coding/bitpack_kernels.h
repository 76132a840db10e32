// Packs and unpacks codes of 1 to 32 bits and signs on a GPU, as cpu/bitpack.h does, and computes
// words of packed codes for kernels that pack their own results.
//
// Bytes moved per code: the size of the unpacked code (4 or 1, or 4 of a float) and width / 8.
// Packed memory is aligned to four bytes; exactly cpu::PackedBytes(n, width) bytes are written or
// read.
#pragma once

#include <array>
#include <cstdint>

#include "compress/cpu/bitpack.h"
#include "compress/cuda/device/block.h"
#include "compress/cuda/device/vectors.h"

namespace legacy::cuda {

inline constexpr int kWordBits = 32;
inline constexpr int kWordBytes = 4;

// Returns word `word` of the first `n` packed codes of `width` bits, 1 <= width <= 32. n * width
// fits in 32 bits.
template <class CodeAt>
LEGACY_DEVICE uint32_t PackedWord(uint32_t word, uint32_t width, uint32_t n, CodeAt code_at) {
  uint32_t i = word * kWordBits / width;
  if (i >= n) return 0;
  // Bits of the code that are in the previous word.
  const uint32_t before = word * kWordBits - i * width;
  uint32_t packed = code_at(i) >> before;
  for (uint32_t filled = width - before; filled < kWordBits && ++i < n; filled += width) {
    packed |= code_at(i) << filled;
  }
  return packed;
}

// Load and store a word of memory of `bytes` bytes, aligned to four; of an incomplete last word,
// only the bytes that exist are accessed.
LEGACY_DEVICE uint32_t LoadWord(const std::byte* from, int64_t bytes, int64_t word) {
  const int64_t at = word * kWordBytes, rest = bytes - at;
  if (rest >= kWordBytes) return LoadAligned<uint32_t>(from + at);
  uint32_t value = 0;
  for (int i = 0; i < rest; ++i) value |= static_cast<uint32_t>(from[at + i]) << 8 * i;
  return value;
}
LEGACY_DEVICE void StoreWord(std::byte* to, int64_t bytes, int64_t word, uint32_t value) {
  const int64_t at = word * kWordBytes, rest = bytes - at;
  if (rest >= kWordBytes) return StoreAligned(value, to + at);
  for (int i = 0; i < rest; ++i) to[at + i] = static_cast<std::byte>(value >> 8 * i);
}

// Returns the code of `width` bits that begins at bit `bit`.
LEGACY_DEVICE uint32_t LoadCode(const std::byte* from, int64_t bytes, int64_t bit, int width) {
  const int64_t word = bit / kWordBits;
  const int skip = static_cast<int>(bit % kWordBits);
  uint64_t bits = LoadWord(from, bytes, word);
  if (skip + width > kWordBits) bits |= uint64_t{LoadWord(from, bytes, word + 1)} << kWordBits;
  return static_cast<uint32_t>(bits >> skip & ((uint64_t{1} << width) - 1));
}

// Returns true if bits after the last of n codes are set.
LEGACY_DEVICE bool HasPadding(const std::byte* packed, int64_t n, int width) {
  const auto used = static_cast<int>(n * width % 8);
  return used != 0 && static_cast<uint32_t>(packed[n * width / 8]) >> used != 0;
}

// Codes per block, a whole number of words for every width.
inline constexpr int64_t kPackTile = 8192;

// Runs a thread for each word of the output.
template <class Code>
struct PackTile {
  static constexpr int kThreads = 256;
  struct Args {
    const Code* codes;
    int64_t n;
    int width;
    std::byte* out;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const int64_t first = block.index() * kPackTile, rest = args.n - first;
    const auto n = static_cast<uint32_t>(rest < kPackTile ? rest : kPackTile);
    const auto width = static_cast<uint32_t>(args.width);
    const Code* const codes = args.codes + first;
    std::byte* const out = args.out + first / 8 * args.width;
    const int64_t bytes = cpu::PackedBytes(n, args.width);
    block.ForEachThread([&](int thread) {
      const auto words = static_cast<uint32_t>((bytes + kWordBytes - 1) / kWordBytes);
      for (auto word = static_cast<uint32_t>(thread); word < words; word += kThreads) {
        StoreWord(out, bytes, word,
                  PackedWord(word, width, n, [&](uint32_t i) -> uint32_t { return codes[i]; }));
      }
    });
  }
};

// Runs a thread for each vector of codes.
template <class Code>
struct UnpackTile {
  static constexpr int kThreads = 256;
  struct Args {
    const std::byte* in;
    int64_t n;
    int width;
    Code* codes;
    uint32_t* malformed;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const int64_t first = block.index() * kPackTile;
    const int64_t bytes = cpu::PackedBytes(args.n, args.width);
    block.ForEachThread([&](int thread) {
      const bool last = first + kPackTile >= args.n;
      if (thread == 0 && last && args.malformed && HasPadding(args.in, args.n, args.width)) {
        block.AtomicOr(args.malformed, 1u);
      }
      for (int64_t i = first + thread * kVector; i < first + kPackTile && i < args.n;
           i += kThreads * kVector) {
        std::array<Code, kVector> codes{};
        LEGACY_UNROLL
        for (int j = 0; j < kVector; ++j) {
          if (i + j >= args.n) continue;
          codes[j] = static_cast<Code>(LoadCode(args.in, bytes, (i + j) * args.width, args.width));
        }
        if (i + kVector <= args.n && IsVectorAligned(args.codes + i)) {
          StoreVector(codes.data(), args.codes + i);
          continue;
        }
        LEGACY_UNROLL
        for (int j = 0; j < kVector; ++j) {
          if (i + j < args.n) args.codes[i + j] = codes[j];
        }
      }
    });
  }
};

// Runs a warp for each kWordsPerWarp words; a word holds the signs of 32 neighbouring values.
struct PackSignTile {
  static constexpr int kThreads = 256;
  static constexpr int kWordsPerWarp = 8;
  static constexpr int64_t kElements = int64_t{kThreads} * kWordsPerWarp;
  struct Args {
    const float* values;
    int64_t n;
    std::byte* out;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    typename Block::template PerThread<std::array<float, kWordsPerWarp>> values;
    typename Block::template PerThread<uint32_t> word;
    const auto first = [&](int thread) {
      return block.index() * kElements + int64_t{thread / kWarp} * kWordsPerWarp * kWarp;
    };
    block.ForEachThread([&](int thread) {
      LEGACY_UNROLL
      for (int i = 0; i < kWordsPerWarp; ++i) {
        const int64_t at = first(thread) + i * kWarp + thread % kWarp;
        values[thread][i] = at < args.n ? args.values[at] : 0.0f;
      }
    });
    LEGACY_UNROLL
    for (int i = 0; i < kWordsPerWarp; ++i) {
      typename Block::template PerThread<bool> below;
      block.ForEachThread([&](int thread) { below[thread] = values[thread][i] < 0; });
      const auto bits = block.Ballot(below);
      block.ForEachThread([&](int thread) {
        if (thread % kWarp == i) word[thread] = bits[thread];
      });
    }
    block.ForEachThread([&](int thread) {
      const int64_t at = first(thread) / kWordBits + thread % kWarp;
      if (thread % kWarp < kWordsPerWarp && at * kWordBits < args.n) {
        StoreWord(args.out, cpu::PackedBytes(args.n, 1), at, word[thread]);
      }
    });
  }
};

// Runs a thread for each vector of values.
struct UnpackSignTile {
  static constexpr int kThreads = 256;
  static constexpr int64_t kElements = 8192;
  struct Args {
    const std::byte* in;
    int64_t n;
    float clear, set;
    float* values;
    uint32_t* malformed;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const int64_t first = block.index() * kElements;
    block.ForEachThread([&](int thread) {
      const bool last = first + kElements >= args.n;
      if (thread == 0 && last && args.malformed && HasPadding(args.in, args.n, 1)) {
        block.AtomicOr(args.malformed, 1u);
      }
      LEGACY_UNROLL
      for (int64_t round = 0; round < kElements; round += kThreads * kVector) {
        const int64_t i = first + round + thread * kVector;
        if (i >= args.n) continue;
        const auto bits = static_cast<uint32_t>(args.in[i / 8]) >> i % 8;
        std::array<float, kVector> values;
        LEGACY_UNROLL
        for (int j = 0; j < kVector; ++j) values[j] = (bits >> j & 1) != 0 ? args.set : args.clear;
        if (i + kVector <= args.n && IsVectorAligned(args.values + i)) {
          StoreVector(values.data(), args.values + i);
          continue;
        }
        LEGACY_UNROLL
        for (int j = 0; j < kVector; ++j) {
          if (i + j < args.n) args.values[i + j] = values[j];
        }
      }
    });
  }
};

// Packs n codes below 2^width, 1 <= width <= 32; width <= 8 for codes of a byte.
template <class Code, class Device>
void LaunchPack(Device& device, const Code* codes, int64_t n, int width, std::byte* out) {
  device.template Launch<PackTile<Code>>(TilesOf(n, kPackTile), {codes, n, width, out});
}
// Unpacks n codes. Sets *malformed to 1 if bits after the last code are set, and otherwise leaves
// it as it is; `malformed` may be null.
template <class Code, class Device>
void LaunchUnpack(Device& device, const std::byte* in, int64_t n, int width, Code* codes,
                  uint32_t* malformed) {
  device.template Launch<UnpackTile<Code>>(TilesOf(n, kPackTile), {in, n, width, codes, malformed});
}
// Packs one bit per value, set for values below zero; zeros of both signs leave it clear.
template <class Device>
void LaunchPackSigns(Device& device, const float* values, int64_t n, std::byte* out) {
  device.template Launch<PackSignTile>(TilesOf(n, PackSignTile::kElements), {values, n, out});
}
// Unpacks bits to `set` where a bit is set, and to `clear` where it is not.
template <class Device>
void LaunchUnpackSigns(Device& device, const std::byte* in, int64_t n, float clear, float set,
                       float* values, uint32_t* malformed) {
  device.template Launch<UnpackSignTile>(TilesOf(n, UnpackSignTile::kElements),
                                         {in, n, clear, set, values, malformed});
}

}  // namespace legacy::cuda
