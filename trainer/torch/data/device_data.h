// Device data is a data set in the memory of a device, which also makes its batches. Their pixels
// equal those of batch.h to the bit.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <span>

#include "base/random.h"
#include "trainer/torch/data/batch.h"
#include "trainer/torch/data/dataset.h"

namespace legacy {

// A DeviceData makes batches on one device.
class DeviceData {
 public:
  DeviceData(const Dataset& dataset, const torch::Device& device);

  // Returns what defines a training batch, as a tensor on the host: each sample's number and
  // augmentation.
  static torch::Tensor Choice(std::span<const int64_t> indices,
                              const std::optional<RandomKey>& augment);

  // Returns the batch of a choice, in the memory of the device. The queued work is the same for
  // every choice, so that it can be captured.
  Batch Training(const torch::Tensor& choice) const;
  Batch Test(int64_t first, int64_t count) const;
  int64_t test_samples() const { return test_labels_.size(0); }

 private:
  torch::Tensor Augmented(const torch::Tensor& images, const torch::Tensor& choice) const;
  torch::Tensor Normalised(const torch::Tensor& images) const;

  Augmentation augment_;
  torch::Tensor train_images_, train_labels_, test_images_, test_labels_;
  torch::Tensor mean_, stddev_, white_;
  torch::Tensor rows_, columns_;  // 0, 1, ...: the rows and columns of an image
};

}  // namespace legacy
