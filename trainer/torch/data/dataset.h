// A data set is held whole in memory as uint8, so that a batch is one index_select.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/data_catalog.h"

namespace legacy {

// A Dataset has training and test samples.
struct Dataset {
  std::string name;
  torch::Tensor train_images;  // uint8 [samples, channels, height, width]
  torch::Tensor train_labels;  // int64 [samples], in [0, classes)
  torch::Tensor test_images;
  torch::Tensor test_labels;
  std::vector<double> mean;  // mean of pixel / 255 per channel, fixed for the data set
  std::vector<double> stddev;
  int classes = 0;
  Augmentation augment = Augmentation::kNone;  // of training images

  int channels() const { return static_cast<int>(train_images.size(1)); }
  int height() const { return static_cast<int>(train_images.size(2)); }
  int width() const { return static_cast<int>(train_images.size(3)); }
};

// A DatasetRequest says which data set to load.
struct DatasetRequest {
  std::string name = "glyphs";  // glyphs (embedded) | fashion-mnist | mnist | cifar10 | cifar100
  // Folder that holds fashion-mnist/, cifar-10-batches-bin/, ...; "": LEGACY_DATA, then
  // ~/.cache/legacy-data.
  std::string data_root;
  int64_t train_limit = 0;  // number of first samples; 0: all (glyphs: its default size)
  int64_t test_limit = 0;
  std::optional<Augmentation> augment = {};  // nothing: that of the catalogue
  bool normalise = true;                     // false: pixels / 255
};

// Loads the data set. Throws Error naming the file, the byte offset and what was expected; for a
// missing file, how to get it.
Dataset LoadDataset(const DatasetRequest& request);

// Returns float [n, c, h, w] = (images / 255 - mean) / stddev of uint8 `images`. Mean and deviation
// have a number for each channel.
torch::Tensor NormalizeImages(const torch::Tensor& images, const std::vector<double>& mean,
                              const std::vector<double>& stddev);
// Returns one float for each channel, in a shape that broadcasts over images.
torch::Tensor PerChannel(const std::vector<double>& values);

}  // namespace legacy
