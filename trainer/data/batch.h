// One worker's batch: gathered from the data set in memory, augmented, normalised.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "trainer/data/dataset.h"

namespace legacy {

struct Batch {
  torch::Tensor images;  // float [n, c, h, w]
  torch::Tensor labels;  // int64 [n]
};

// How an image is augmented: pixel (r, c) is that of (r + rows, c + columns), black outside, then
// mirrored.
struct Shift {
  static constexpr int kMost = 4;  // pixels

  int rows = 0;  // in [-kMost, kMost]
  int columns = 0;
  bool flip = false;
};

// Those of a batch, one after the other from the key.
std::vector<Shift> DrawShifts(const RandomKey& key, int64_t count);

// Training samples `indices`. With `augment` each image is shifted by up to 4 pixels in both
// directions (black padding) and mirrored with probability 1/2, as usual for CIFAR; its draws are
// keyed by the batch's key alone.
Batch TrainingBatch(const Dataset& dataset, std::span<const int64_t> indices,
                    const std::optional<RandomKey>& augment);

// Test samples [first, first + count).
Batch TestBatch(const Dataset& dataset, int64_t first, int64_t count);

}  // namespace legacy
