// The sampler chooses the samples of each worker at each step. Every epoch shuffles the whole
// training set (Fisher-Yates on counter-based draws keyed by seed and epoch) and cuts it into
// equal, disjoint shards; a shard's incomplete last batch is left out. The order is a function of
// (seed, step, worker) alone, so every policy and scheme sees the same batches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace legacy {

// A Sampler gives the batches of one training.
class Sampler {
 public:
  // Throws Error where samples < workers * batch_size, or on counts below 1.
  Sampler(int64_t samples, int workers, int64_t batch_size, uint64_t seed);

  int64_t StepsPerEpoch() const { return steps_per_epoch_; }

  // Makes Batch() give the batches of `step`, and reshuffles when the epoch changes.
  void Seek(int64_t step);
  // Returns the sample numbers of `worker`'s batch. They are valid until the next Seek, and any
  // thread may ask.
  std::span<const int64_t> Batch(int worker) const;

 private:
  int64_t samples_;
  int64_t batch_size_;
  uint64_t seed_;
  int64_t shard_;  // samples of one worker
  int64_t steps_per_epoch_;
  int64_t epoch_ = -1;
  int64_t position_ = 0;  // batch within the epoch
  std::vector<int64_t> permutation_;
};

}  // namespace legacy
