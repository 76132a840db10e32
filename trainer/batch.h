// One worker's batch: gathered from the data set in memory, augmented, normalised.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compress/random.h"
#include "trainer/dataset.h"

namespace legacy {

struct Batch {
  torch::Tensor images;  // float [n, c, h, w]
  torch::Tensor labels;  // int64 [n]
};

// Training samples `indices`. With `augment` each image is shifted by up to 4 pixels in both
// directions (black padding) and mirrored with probability 1/2, as usual for CIFAR; its draws are
// keyed by the batch's key alone.
Batch TrainingBatch(const Dataset& dataset, std::span<const int64_t> indices,
                    const std::optional<RandomKey>& augment);

// Test samples [first, first + count).
Batch TestBatch(const Dataset& dataset, int64_t first, int64_t count);

}  // namespace legacy
