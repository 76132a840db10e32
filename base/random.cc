#include "base/random.h"

#include <cassert>
#include <cmath>
#include <numbers>

#include "base/simd.h"

namespace legacy {
namespace {

constexpr uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
constexpr uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

// Computes blocks of consecutive counters, one in each lane. The counter's first word and the upper
// half of its second are the number of the block.
constexpr int kLanes = 16;
LEGACY_INLINE void FillLanes(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key,
                             uint32_t* out) {
  uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    c0[lane] = counter[0] + static_cast<uint32_t>(lane);
    c1[lane] = counter[1] + (c0[lane] < counter[0] ? 1u << 16 : 0);
    c2[lane] = counter[2];
    c3[lane] = counter[3];
  }
  uint32_t key0 = key[0], key1 = key[1];
  for (int round = 0; round < kPhiloxRounds; ++round) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t product0 = uint64_t{kPhiloxMultipliers[0]} * c0[lane];
      const uint64_t product1 = uint64_t{kPhiloxMultipliers[1]} * c2[lane];
      c0[lane] = static_cast<uint32_t>(product1 >> 32) ^ c1[lane] ^ key0;
      c1[lane] = static_cast<uint32_t>(product1);
      c2[lane] = static_cast<uint32_t>(product0 >> 32) ^ c3[lane] ^ key1;
      c3[lane] = static_cast<uint32_t>(product0);
    }
    key0 += kPhiloxWeyl[0];
    key1 += kPhiloxWeyl[1];
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    out[4 * lane] = c0[lane];
    out[4 * lane + 1] = c1[lane];
    out[4 * lane + 2] = c2[lane];
    out[4 * lane + 3] = c3[lane];
  }
}

}  // namespace

RandomStream::RandomStream(const RandomKey& key) {
  assert(static_cast<uint32_t>(key.purpose) < (1u << 16));
  const StreamKey stream = StreamKeyOf(key);
  key_ = stream.key;
  counter_ = stream.counter;
}

uint32_t RandomStream::NextU32() {
  if (used_ == 4) {
    block_ = Philox4x32(counter_, key_);
    used_ = 0;
    if (++counter_[0] == 0) counter_[1] += 1u << 16;
  }
  return block_[used_++];
}

void RandomStream::Fill(std::span<uint32_t> out) {
  constexpr size_t kBlocks = 4 * kLanes;
  while (used_ < 4 && !out.empty()) {
    out.front() = NextU32();
    out = out.subspan(1);
  }
  const cpu::Simd simd = cpu::ActiveSimd();
  for (; out.size() >= kBlocks; out = out.subspan(kBlocks)) {
    cpu::Dispatch<FillLanes>(simd, counter_, key_, out.data());
    counter_[0] += kLanes;
    if (counter_[0] < kLanes) counter_[1] += 1u << 16;
  }
  for (uint32_t& draw : out) draw = NextU32();
}

uint64_t RandomStream::NextU64() {
  const uint64_t low = NextU32();
  return low | static_cast<uint64_t>(NextU32()) << 32;
}

// The method is Lemire's ("Fast random integer generation in an interval", TOMACS 2019): the result
// is the upper half of a product, and the few low halves that would favour some results are
// rejected.
uint32_t RandomStream::Below(uint32_t bound) {
  assert(bound >= 1);
  uint64_t product = static_cast<uint64_t>(NextU32()) * bound;
  if (Low(product) < bound) {
    const uint32_t rejected = (0u - bound) % bound;
    while (Low(product) < rejected) product = static_cast<uint64_t>(NextU32()) * bound;
  }
  return High(product);
}

double RandomStream::Uniform() { return static_cast<double>(NextU64() >> 11) * 0x1p-53; }

double RandomStream::Normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform()));  // the argument is in (0, 1]
  return radius * std::cos(2.0 * std::numbers::pi * Uniform());
}

}  // namespace legacy
