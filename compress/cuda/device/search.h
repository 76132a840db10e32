// Binary search in ascending numbers, by one thread or by all threads of a block.
#pragma once

#include <cstdint>

#include "compress/cuda/device/block.h"

namespace legacy::cuda {

// Returns how many of the ascending `indices` are below `bound`, as std::lower_bound does.
LEGACY_DEVICE uint32_t LowerBound(const uint32_t* indices, uint32_t count, int64_t bound) {
  uint32_t low = 0, high = count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (indices[middle] < bound) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Searches as above with all threads of a block, in log(n) / log(threads) steps.
template <class Block>
LEGACY_DEVICE int64_t LowerBound(Block& block, const uint32_t* ascending, int64_t n, int64_t key) {
  int64_t low = 0, high = n;  // the result lies in low .. high
  while (low < high) {
    const int64_t step = (high - low + Block::kThreads - 1) / Block::kThreads;
    typename Block::template PerThread<uint32_t> below;
    block.ForEachThread([&](int thread) {
      const int64_t at = low + thread * step;
      below[thread] = at < high && ascending[at] < key ? 1 : 0;
    });
    const int64_t count = block.Sum(below);
    const int64_t next = low + count * step;  // the first probe that is not below
    high = next < high ? next : high;
    if (count > 0) low = next - step + 1;
  }
  return low;
}

}  // namespace legacy::cuda
