#include "trainer/torch/data/dataset.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "trainer/torch/data/batch.h"

namespace legacy {
namespace {

torch::Tensor Images(const ImageSet& set) {
  torch::Tensor images =
      torch::empty({set.samples(), set.channels, set.height, set.width}, torch::kUInt8);
  std::memcpy(images.data_ptr<uint8_t>(), set.pixels.data(), set.pixels.size());
  return images;
}

torch::Tensor Labels(const ImageSet& set) {
  torch::Tensor labels = torch::empty({set.samples()}, torch::kInt64);
  std::copy(set.labels.begin(), set.labels.end(), labels.data_ptr<int64_t>());
  return labels;
}

}  // namespace

Dataset LoadDataset(const DatasetRequest& request) {
  const CatalogEntry& entry = FindInCatalog(request.name);
  const auto root = DataRoot(request.data_root);
  const ImageSet train = LoadImages(entry, root, true, request.train_limit);
  const ImageSet test = LoadImages(entry, root, false, request.test_limit);
  if (train.height != test.height || train.width != test.width) {
    throw Error(entry.name, "training and test images of different sizes", "one size");
  }
  Dataset dataset;
  dataset.name = entry.name;
  dataset.train_images = Images(train);
  dataset.train_labels = Labels(train);
  dataset.test_images = Images(test);
  dataset.test_labels = Labels(test);
  dataset.mean = entry.mean;
  dataset.stddev = entry.stddev;
  dataset.classes = entry.classes;
  if (!request.normalise) {
    std::ranges::fill(dataset.mean, 0);
    std::ranges::fill(dataset.stddev, 1);
  }
  dataset.augment = request.augment.value_or(entry.augment);
  const int side = std::min(dataset.height(), dataset.width());
  if (dataset.augment == Augmentation::kReflectCrop && side <= Shift::kMost) {
    throw Error("augment reflect-crop: " + entry.name, std::to_string(side) + " pixels",
                "images of at least " + std::to_string(Shift::kMost + 1) + " pixels a side");
  }
  return dataset;
}

torch::Tensor NormalizeImages(const torch::Tensor& images, const std::vector<double>& mean,
                              const std::vector<double>& stddev) {
  torch::Tensor pixels = images.to(torch::kFloat32).div_(255);
  return pixels.sub_(PerChannel(mean)).div_(PerChannel(stddev));
}

torch::Tensor PerChannel(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat32).view({1, -1, 1, 1});
}

}  // namespace legacy
