// Classification of images: of those that are held in memory, and of folders whose images are
// decoded ahead of the training.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/decode_pool.h"
#include "trainer/data/image_folder.h"
#include "trainer/data/sampler.h"
#include "trainer/torch/data/dataset.h"
#include "trainer/torch/tasks/task.h"

namespace legacy {

// An ImageTask is judged by the classes of a test set, wherever its images come from.
class ImageTask : public Task {
 public:
  const TaskInfo& Info() const override { return InfoOf(TaskKind::kClassification); }
  torch::Tensor Loss(Model& model, const Batch& batch, ModelState& state, double smoothing,
                     double* squares) const override;
  int64_t Parts(int64_t batch) const override;
  MetricSums Evaluate(Model& model, int64_t part, int64_t batch) const override;

 protected:
  virtual int64_t TestSamples() const = 0;
  // Returns test samples [first, first + count).
  virtual Batch TestImages(int64_t first, int64_t count) const = 0;
};

// A Classification has its images in memory.
class Classification : public ImageTask {
 public:
  explicit Classification(Dataset dataset) : dataset_(std::move(dataset)) {}

  const std::string& DataName() const override { return dataset_.name; }
  ModelRequest RequestFor(const std::string& model, uint64_t seed) const override;
  std::unique_ptr<Feed> Open(const FeedOptions& options) const override;
  std::unique_ptr<SampleSet> OpenSamples() const override;

  const Dataset& images() const { return dataset_; }

 protected:
  int64_t TestSamples() const override { return dataset_.test_labels.size(0); }
  Batch TestImages(int64_t first, int64_t count) const override;

 private:
  Dataset dataset_;
};

// An ImageFeed gives the batches of images in memory.
class ImageFeed : public Feed {
 public:
  ImageFeed(const Dataset& dataset, const FeedOptions& options);

  int64_t StepsPerEpoch() const override { return sampler_.StepsPerEpoch(); }
  void Seek(int64_t step) override;
  Batch Get(int worker) const override;

  // Return what defines a batch: the samples of a worker, and the key of its augmentation, where
  // the data set has one.
  std::span<const int64_t> Samples(int worker) const { return sampler_.Batch(worker); }
  std::optional<RandomKey> AugmentKey(int worker) const;

 private:
  const Dataset& dataset_;
  uint64_t seed_;
  Sampler sampler_;
  int64_t step_ = 0;
};

// A FolderClassification decodes images as they are needed. A limit on samples takes every n-th of
// them, because a folder lists one class after the other.
class FolderClassification : public ImageTask {
 public:
  struct Options {
    std::string name;  // of the data set
    ImageFolderRequest folder;
    std::vector<double> mean;
    std::vector<double> stddev;
    int64_t train_limit = 0;
    int64_t test_limit = 0;
  };
  explicit FolderClassification(const Options& options);

  const std::string& DataName() const override { return options_.name; }
  ModelRequest RequestFor(const std::string& model, uint64_t seed) const override;
  std::unique_ptr<Feed> Open(const FeedOptions& options) const override;

  const ImageFolder& folder() const { return folder_; }
  // Number of samples of a split within the limit, and the number in the folder of one of them.
  int64_t Samples(bool training) const;
  int64_t InFolder(bool training, int64_t sample) const;
  // Returns the batch of samples (by their numbers in the folder) with these pixels, normalised.
  Batch BatchOf(bool training, std::span<const int64_t> samples, const DecodedImages& pixels) const;

 protected:
  int64_t TestSamples() const override { return Samples(false); }
  Batch TestImages(int64_t first, int64_t count) const override;

 private:
  Options options_;
  ImageFolder folder_;
};

// Returns a batch's sums as tensors of no dimension: cross entropy, and the labels that are among
// the one and the five classes of the highest logits [n, classes]. Of equal logits, those of lower
// classes come first.
struct ClassificationSums {
  torch::Tensor loss, hits, hits5;
};
ClassificationSums SumsOf(const torch::Tensor& logits, const torch::Tensor& labels);

}  // namespace legacy
