// Classification of images that are held in memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/sampler.h"
#include "trainer/tasks/task.h"

namespace legacy {

class Classification : public Task {
 public:
  explicit Classification(Dataset dataset) : dataset_(std::move(dataset)) {}

  const TaskInfo& Info() const override { return InfoOf(TaskKind::kClassification); }
  const std::string& DataName() const override { return dataset_.name; }
  ModelRequest RequestFor(const std::string& model, uint64_t seed) const override;
  std::unique_ptr<Feed> Open(const FeedOptions& options) const override;
  torch::Tensor Loss(Model& model, const Batch& batch, ModelState& state,
                     double smoothing) const override;
  int64_t Parts(int64_t batch) const override;
  MetricSums Evaluate(Model& model, int64_t part, int64_t batch) const override;

  const Dataset& images() const { return dataset_; }

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

// Returns a batch's sums as tensors of no dimension: cross entropy, and the labels that are among
// the one and the five classes of the highest logits [n, classes]. Of equal logits, those of lower
// classes come first.
struct ClassificationSums {
  torch::Tensor loss, hits, hits5;
};
ClassificationSums SumsOf(const torch::Tensor& logits, const torch::Tensor& labels);

}  // namespace legacy
