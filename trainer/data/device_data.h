// A data set in the memory of a device, and its batches made there: the pixels of batch.h to the
// bit.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <span>

#include "base/random.h"
#include "trainer/data/batch.h"
#include "trainer/data/dataset.h"

namespace legacy {

class DeviceData {
 public:
  DeviceData(const Dataset& dataset, const torch::Device& device);

  // What a training batch is made of: each sample's number and how it is augmented; a tensor on the
  // host.
  static torch::Tensor Choice(std::span<const int64_t> indices,
                              const std::optional<RandomKey>& augment);

  // Of a choice in the memory of the device. Queues work that does not depend on the choice, so
  // that it can be captured.
  Batch Training(const torch::Tensor& choice) const;
  Batch Test(int64_t first, int64_t count) const;

 private:
  torch::Tensor Augmented(const torch::Tensor& images, const torch::Tensor& choice) const;
  torch::Tensor Normalised(const torch::Tensor& images) const;

  bool augment_;
  torch::Tensor train_images_, train_labels_, test_images_, test_labels_;
  torch::Tensor mean_, stddev_, white_;
  torch::Tensor rows_, columns_;  // 0, 1, ... of an image
};

}  // namespace legacy
