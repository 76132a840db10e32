// Uniform random subsets without replacement.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace legacy::cpu {

// Returns the low half of u n below which a draw is refused: 2^32 mod n.
constexpr uint32_t RefusedBelow(uint32_t n) { return n == 0 ? 0 : (0u - n) % n; }

// The result of a draw.
struct Pick {
  uint32_t position;
  bool accepted;
};
constexpr Pick PickOf(uint32_t draw, uint32_t n, uint32_t refused_below) {
  const uint64_t product = uint64_t{draw} * n;
  return {static_cast<uint32_t>(product >> 32), static_cast<uint32_t>(product) >= refused_below};
}

// Returns a uniform `k`-subset of [0, n), ascending; 0 <= k <= n < 2^32. It is the set of the first
// k distinct positions that the stream gives, or above k = n / 2 the complement of the first n - k.
// A draw u gives the position u n / 2^32, or none if (u n) mod 2^32 < 2^32 mod n, which makes all
// positions equally likely (Lemire, TOMACS 2019). A draw's result depends on no other draw, so the
// set can be found in any order and by many threads. This function marks a bitmap of n / 8 bytes
// and takes k to 1.4 k draws.
std::vector<uint32_t> RandomSubset(RandomStream stream, int64_t n, int64_t k);

}  // namespace legacy::cpu
