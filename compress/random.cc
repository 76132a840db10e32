#include "compress/random.h"

#include <cassert>
#include <cmath>
#include <numbers>

namespace legacy {
namespace {

// Multipliers and Weyl increments of Philox4x32, from the paper's table of constants.
constexpr uint64_t kMultiplier0 = 0xD2511F53;
constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9;
constexpr uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
constexpr uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {High(product1) ^ counter[1] ^ key[0], Low(product1),
               High(product0) ^ counter[3] ^ key[1], Low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// Under one seed Philox is a bijection of (step, worker, layer), so two streams never share a pair
// of key and counter: half of the image becomes the stream's key, the other half the upper counter.
// The purpose keeps the low 16 bits of the second counter word; the block number has the first word
// and the other 16 bits.
RandomStream::RandomStream(const RandomKey& key) {
  const auto image = Philox4x32({Low(key.step), High(key.step), key.worker, key.layer},
                                {Low(key.seed), High(key.seed)});
  assert(static_cast<uint32_t>(key.purpose) < (1u << 16));
  key_ = {image[0], image[1]};
  counter_ = {0, static_cast<uint32_t>(key.purpose), image[2], image[3]};
}

uint32_t RandomStream::NextU32() {
  if (used_ == 4) {
    block_ = Philox4x32(counter_, key_);
    used_ = 0;
    if (++counter_[0] == 0) counter_[1] += 1u << 16;
  }
  return block_[used_++];
}

uint64_t RandomStream::NextU64() {
  const uint64_t low = NextU32();
  return low | static_cast<uint64_t>(NextU32()) << 32;
}

// Lemire, "Fast random integer generation in an interval", TOMACS 2019: the upper half of a
// product, with the few low halves that would favour some results rejected.
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
