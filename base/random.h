// Random numbers are counter-based: Philox4x32-10 (Salmon et al., SC'11). Every draw of the toolkit
// is a pure function of (seed, worker, step, layer, purpose, index): nothing depends on call order
// or threads, and no generator is global.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace legacy {

// A Purpose says what a draw is for. It is part of the key, so that no two uses share numbers.
// Values are appended and never change, as they enter results.
enum class Purpose : uint32_t {
  kInit = 0,        // weights
  kShuffle = 1,     // order of samples
  kAugment = 2,     // crops, flips
  kDataset = 3,     // the embedded images
  kStraggler = 4,   // slow-downs of workers
  kRandomK = 5,     // Random-K's support
  kStochastic = 6,  // stochastic rounding
  kPlacement = 7,
  kGradient = 8,  // generated gradients
  kSketch = 9,    // first bases of low-rank methods
  kSample = 10,   // start of a sample of a gradient
  kDropout = 11,
  kNegatives = 12,   // items that a user did not take
  kPartition = 13,   // samples of federated clients
  kLocalOrder = 14,  // order of a federated client's samples
  kEvaluation = 15,  // what modules of users draw when they are evaluated
  kRotation = 16,    // signs of a random rotation
  kCorrelated = 17,  // permutations that correlate the roundings of workers
  kTest = 99,
};

// A RandomKey identifies a stream of draws.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint32_t worker = 0;
  uint32_t layer = 0;
  Purpose purpose = Purpose::kTest;
};

// Multipliers and Weyl increments of Philox4x32, from the paper's table of constants.
inline constexpr uint32_t kPhiloxMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
inline constexpr uint32_t kPhiloxWeyl[2] = {0x9E3779B9, 0xBB67AE85};
inline constexpr int kPhiloxRounds = 10;

// Returns Philox4x32 of a 128-bit counter with a 64-bit key.
constexpr std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key,
                                             int rounds = kPhiloxRounds) {
  // These are copies, because a GPU cannot read the host's constant arrays.
  constexpr uint64_t kMultiplier0 = kPhiloxMultipliers[0], kMultiplier1 = kPhiloxMultipliers[1];
  constexpr uint32_t kWeyl0 = kPhiloxWeyl[0], kWeyl1 = kPhiloxWeyl[1];
  for (int round = 0; round < rounds; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// A StreamKey has the key and the counter from which the draws of a stream are computed.
struct StreamKey {
  std::array<uint32_t, 2> key{};
  std::array<uint32_t, 4> counter{};  // counter of block 0
};

// Returns the stream of a key. Under one seed Philox is a bijection of (step, worker, layer), so
// two streams never share a pair of key and counter: half of the image becomes the stream's key,
// the other half the upper counter. The purpose, below 2^16, keeps the low 16 bits of the second
// counter word; the block number has the first word and the other 16 bits.
constexpr StreamKey StreamKeyOf(const RandomKey& key) {
  const auto image =
      Philox4x32({static_cast<uint32_t>(key.step), static_cast<uint32_t>(key.step >> 32),
                  key.worker, key.layer},
                 {static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)});
  return {{image[0], image[1]}, {0, static_cast<uint32_t>(key.purpose), image[2], image[3]}};
}

// Returns draws 4 b to 4 b + 3 of a stream, b < 2^48. This is their definition.
constexpr std::array<uint32_t, 4> StreamBlock(const StreamKey& stream, uint64_t b) {
  auto counter = stream.counter;
  counter[0] = static_cast<uint32_t>(b);
  counter[1] += static_cast<uint32_t>(b >> 32) << 16;
  return Philox4x32(counter, stream.key);
}

// A RandomStream gives the draws of one key in order. It is cheap to make, and copies continue
// independently.
class RandomStream {
 public:
  explicit RandomStream(const RandomKey& key);
  uint32_t NextU32();
  uint64_t NextU64();
  // Fills `out` as NextU32() would, several times as fast.
  void Fill(std::span<uint32_t> out);
  // Returns a number uniform in [0, bound) without modulo bias; bound >= 1.
  uint32_t Below(uint32_t bound);
  // Returns a number in [0, 1) of 53 bits.
  double Uniform();
  // Returns a standard normal by Box-Muller, which takes two draws.
  double Normal();

  // These are for kernels that take blocks by number: block b of a new stream is Philox4x32 of
  // Key() and of Counter() with b as its first word.
  const std::array<uint32_t, 2>& Key() const { return key_; }
  const std::array<uint32_t, 4>& Counter() const { return counter_; }

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

}  // namespace legacy
