// The choice of the largest of some numbers by a block of threads (cpu::SelectLargest): squared
// norms of blocks or of rows, of which there are few. Numbers are read nine times; they stay in a
// cache.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "compress/cuda/device/block.h"

namespace legacy::cuda {

inline constexpr uint32_t kNotSent = 0xFFFFFFFF;  // the rank of what is not chosen
inline constexpr int kLargestThreads = 1024;
inline constexpr int kLargestDigitBits = 8;
inline constexpr int kLargestDigits = 1 << kLargestDigitBits;

struct LargestShared {
  std::array<uint32_t, kLargestDigits> counts;
  uint64_t least;   // the least key that is chosen
  uint32_t wanted;  // number of chosen keys among those that are equal to it
};

// Numbers are not negative, so that their bits order as they do.
LEGACY_DEVICE uint64_t LargestKey(double number) { return std::bit_cast<uint64_t>(number); }

// Finds the `kept`-th largest key, digit by digit.
template <class Block>
LEGACY_DEVICE void FindLeastOfLargest(Block& block, LargestShared& shared, const double* numbers,
                                      uint32_t count, uint32_t kept) {
  constexpr int kKeyBits = 64;
  block.ForEachThread([&](int thread) {
    if (thread != 0) return;
    shared.least = 0;
    shared.wanted = kept;
  });
  for (int shift = kKeyBits - kLargestDigitBits; shift >= 0; shift -= kLargestDigitBits) {
    block.ForEachThread([&](int thread) {
      if (thread < kLargestDigits) shared.counts[thread] = 0;
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      const int above = shift + kLargestDigitBits;
      for (uint32_t i = thread; i < count; i += Block::kThreads) {
        const uint64_t key = LargestKey(numbers[i]);
        if (above < kKeyBits && key >> above != shared.least >> above) continue;
        block.AtomicAdd(&shared.counts[key >> shift & (kLargestDigits - 1)], 1u);
      }
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      int digit = kLargestDigits - 1;
      while (digit > 0 && shared.counts[digit] < shared.wanted) {
        shared.wanted -= shared.counts[digit--];
      }
      shared.least |= static_cast<uint64_t>(digit) << shift;
    });
    block.Sync();
  }
}

// Calls write(i, rank) for each number, with its rank among the chosen ones in ascending order, or
// kNotSent. chosen(i, largest) says whether number i is chosen, given whether it is among the
// `kept` largest, of equal ones the first. Returns how many are chosen; synchronises threads.
template <class Block, class Chosen, class Write>
LEGACY_DEVICE uint32_t ChooseLargest(Block& block, LargestShared& shared, const double* numbers,
                                     uint32_t count, uint32_t kept, Chosen chosen, Write write) {
  if (kept < count) FindLeastOfLargest(block, shared, numbers, count, kept);
  uint32_t equal_before = 0, chosen_before = 0;
  for (uint32_t begin = 0; begin < count; begin += Block::kThreads) {
    typename Block::template PerThread<uint32_t> equal, own;
    const auto is_equal = [&](uint32_t i) {
      return kept < count && i < count && LargestKey(numbers[i]) == shared.least;
    };
    block.ForEachThread([&](int thread) { equal[thread] = is_equal(begin + thread) ? 1 : 0; });
    const uint32_t equals = block.ExclusiveSum(equal);
    const auto is_chosen = [&](int thread) {
      const uint32_t i = begin + thread;
      if (i >= count) return false;
      if (kept >= count) return chosen(i, true);
      const uint64_t key = LargestKey(numbers[i]);
      const bool first = key == shared.least && equal_before + equal[thread] < shared.wanted;
      return chosen(i, key > shared.least || first);
    };
    block.ForEachThread([&](int thread) { own[thread] = is_chosen(thread) ? 1 : 0; });
    const uint32_t all = block.ExclusiveSum(own);
    block.ForEachThread([&](int thread) {
      const uint32_t i = begin + thread;
      if (i < count) write(i, is_chosen(thread) ? chosen_before + own[thread] : uint32_t{kNotSent});
    });
    equal_before += equals;
    chosen_before += all;
  }
  block.Sync();
  return chosen_before;
}

}  // namespace legacy::cuda
