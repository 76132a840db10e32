// These are uniform subsets without replacement.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace legacy::cpu {

// Returns the low half of u n below which a draw is refused: 2^32 mod n.
constexpr uint32_t RefusedBelow(uint32_t n) { return n == 0 ? 0 : (0u - n) % n; }

// A Pick is what a draw gives.
struct Pick {
  uint32_t position;
  bool accepted;
};
constexpr Pick PickOf(uint32_t draw, uint32_t n, uint32_t refused_below) {
  const uint64_t product = uint64_t{draw} * n;
  return {static_cast<uint32_t>(product >> 32), static_cast<uint32_t>(product) >= refused_below};
}

// Returns a uniform `k`-subset of [0, n), ascending; 0 <= k <= n < 2^32. It is the set of the first
// k distinct positions that the stream gives, or above k = n / 2 what the first n - k leave: a draw
// u is the position u n / 2^32, or none where (u n) mod 2^32 < 2^32 mod n, by which all positions
// are equally likely (Lemire, TOMACS 2019). What a draw gives depends on no other, so that the set
// can be found in any order and by many threads. Here it is found on a bitmap, with n / 8 bytes and
// k to 1.4 k draws.
std::vector<uint32_t> RandomSubset(RandomStream stream, int64_t n, int64_t k);

}  // namespace legacy::cpu
