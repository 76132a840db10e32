// Rank selection on keys of 31 bits by radix digits of a range. It takes a few reads at most, each
// of a much smaller part than the previous one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "compress/cpu/topk_gather.h"

namespace legacy::cpu {

// The part of all keys that holds the key of a rank.
struct Narrowed {
  KeyRange range;
  int64_t above = 0;  // number of keys above the part
};

// Counts one digit: key(0) .. key(n - 1), all >= range.low, in up to 2^11 equal parts that cover
// `range`, and one part for keys above them. Returns the part that holds the key of descending rank
// `rank`, from 1.
template <typename Key>
Narrowed Narrow(int64_t n, Key key, KeyRange range, int64_t rank) {
  constexpr int kMostBits = 11;
  // Neighbours often share a part; separate tables let increments overlap.
  constexpr int kTables = 4;
  const uint32_t width = range.high - range.low;
  const int digit = std::clamp<int>(std::bit_width(static_cast<uint64_t>(n)), 4, kMostBits);
  const int shift = std::max<int>(0, std::bit_width(width) - digit);
  const uint32_t above = (width >> shift) + 1;  // the part after the range
  std::array<std::array<uint32_t, (1 << kMostBits) + 1>, kTables> tables;
  for (auto& table : tables) std::fill_n(table.begin(), above + 1, 0u);
  int64_t i = 0;
  for (; i + kTables <= n; i += kTables) {
    for (int t = 0; t < kTables; ++t) {
      ++tables[t][std::min(above, (key(i + t) - range.low) >> shift)];
    }
  }
  for (; i < n; ++i) ++tables[0][std::min(above, (key(i) - range.low) >> shift)];

  int64_t counted = 0;
  for (uint32_t part = above;; --part) {
    const int64_t here =
        int64_t{tables[0][part]} + tables[1][part] + tables[2][part] + tables[3][part];
    if (counted + here < rank && part > 0) {
      counted += here;
      continue;
    }
    // The last part may extend beyond range.high; it also counts the keys there.
    const uint32_t low = range.low + (part << shift);
    return {{low, part == above ? kLargestKey : low + ((1u << shift) - 1)}, counted};
  }
}

// The key of a rank, and the number of keys equal to it among the first `rank`.
struct Cut {
  uint32_t key = 0;
  int64_t ties = 0;
};

// Returns the cut of the magnitudes of `values`, all >= range.low; 1 <= rank <= values.size(). A
// range that holds the result saves digits. `scratch` holds the keys of later digits.
Cut FindCut(std::span<const float> values, KeyRange range, int64_t rank,
            std::vector<uint32_t>& scratch);

}  // namespace legacy::cpu
