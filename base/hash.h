// Draws and hashes of the fabric are counter based: SplitMix64's output function (Steele, Lea,
// Flood, OOPSLA'14) folded over the key. Every draw is a pure function of its key, whatever the
// order of calls.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace legacy {

// Returns SplitMix64's mix of `x`.
inline uint64_t Mix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// Returns the hash of the words in order.
inline uint64_t HashWords(std::initializer_list<uint64_t> words) {
  uint64_t hash = 0;
  for (uint64_t word : words) {
    hash = Mix64(hash ^ word);
  }
  return hash;
}

// Returns a number in [0, bound) from the upper half of `hash`. `bound` is below 2^32, and the
// bias below bound / 2^32.
inline uint64_t Reduce(uint64_t hash, uint64_t bound) { return ((hash >> 32) * bound) >> 32; }

// Returns a number in (0, 1) of 53 bits. It is never 0, so that logarithms are finite.
inline double UnitInterval(uint64_t hash) {
  return (static_cast<double>(hash >> 11) + 0.5) * 0x1p-53;
}

}  // namespace legacy
