#include "trainer/data/sampler.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace legacy {

Sampler::Sampler(int64_t samples, int workers, int64_t batch_size, uint64_t seed)
    : samples_(samples), batch_size_(batch_size), seed_(seed) {
  if (workers < 1) throw Error("workers", std::to_string(workers), "at least 1");
  if (batch_size < 1) throw Error("batch-size", std::to_string(batch_size), "at least 1");
  shard_ = samples / workers;
  steps_per_epoch_ = shard_ / batch_size;
  if (steps_per_epoch_ < 1) {
    throw Error("batch-size", std::to_string(batch_size),
                "at most " + std::to_string(shard_) + " for " + std::to_string(workers) +
                    " workers on " + std::to_string(samples) + " training samples");
  }
}

void Sampler::Seek(int64_t step) {
  const int64_t epoch = step / steps_per_epoch_;
  position_ = step % steps_per_epoch_;
  if (epoch == epoch_) return;
  epoch_ = epoch;
  permutation_.resize(static_cast<size_t>(samples_));
  std::iota(permutation_.begin(), permutation_.end(), 0);
  RandomStream random({.seed = seed_,
                       .step = static_cast<uint64_t>(epoch),
                       .worker = 0,
                       .layer = 0,
                       .purpose = Purpose::kShuffle});
  for (int64_t i = samples_ - 1; i > 0; --i) {
    std::swap(permutation_[i], permutation_[random.Below(static_cast<uint32_t>(i + 1))]);
  }
}

std::span<const int64_t> Sampler::Batch(int worker) const {
  const int64_t first = worker * shard_ + position_ * batch_size_;
  return {permutation_.data() + first, static_cast<size_t>(batch_size_)};
}

}  // namespace legacy
