// A batch is one worker's samples. Those of images in memory are gathered, augmented and normalised
// here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "trainer/torch/data/dataset.h"

namespace legacy {

// A Batch has n samples.
struct Batch {
  torch::Tensor inputs;   // images: float [n, c, h, w]; tokens: int64 [n, length]; pairs: [n, 2]
  torch::Tensor targets;  // classes: int64 [n]; tokens: int64 [n, length]; 0 or 1: float [n]
};

// Returns samples [part * n / parts, (part + 1) * n / parts) of n, which `parts` divides.
Batch PartOf(const Batch& batch, int64_t part, int64_t parts);

// A Shift is the augmentation of an image: pixel (r, c) becomes that of (r + rows, c + columns),
// and the image is then mirrored where `flip` is true. Outside, pixels are black, or those of the
// image's reflection in its border pixels.
struct Shift {
  static constexpr int kMost = 4;  // pixels

  int rows = 0;  // in [-kMost, kMost]
  int columns = 0;
  bool flip = false;
};

// Draws the shifts of a batch, one after the other, from the key.
std::vector<Shift> DrawShifts(const RandomKey& key, int64_t count);

// Returns training samples `indices`. With `augment` each image is shifted by up to 4 pixels in
// both directions and mirrored with probability 1/2, as usual for CIFAR, over what the data set's
// Augmentation says. Its draws are keyed by the batch's key alone.
Batch TrainingBatch(const Dataset& dataset, std::span<const int64_t> indices,
                    const std::optional<RandomKey>& augment);

// Returns test samples [first, first + count).
Batch TestBatch(const Dataset& dataset, int64_t first, int64_t count);

}  // namespace legacy
