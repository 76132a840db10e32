#include "trainer/torch/tasks/classification.h"

#include <torch/torch.h>

#include <algorithm>

#include "trainer/torch/data/batch.h"

namespace legacy {
namespace {

class ImageSamples : public SampleSet {
 public:
  explicit ImageSamples(const Dataset& dataset) : dataset_(dataset) {
    const auto* labels = dataset.train_labels.data_ptr<int64_t>();
    labels_.assign(labels, labels + dataset.train_labels.size(0));
  }

  SampleLabels Labels() const override {
    return {.samples = std::ssize(labels_), .labels = labels_, .classes = dataset_.classes};
  }
  Batch Gather(std::span<const int64_t> samples, const RandomKey& key) const override {
    std::optional<RandomKey> augment;
    if (dataset_.augment != Augmentation::kNone) {
      augment = key;
      augment->purpose = Purpose::kAugment;
    }
    return TrainingBatch(dataset_, samples, augment);
  }

 private:
  const Dataset& dataset_;
  std::vector<int32_t> labels_;
};

}  // namespace

ModelRequest Classification::RequestFor(const std::string& model, uint64_t seed) const {
  return {.name = model,
          .channels = dataset_.channels(),
          .height = dataset_.height(),
          .width = dataset_.width(),
          .classes = dataset_.classes,
          .seed = seed};
}

std::unique_ptr<Feed> Classification::Open(const FeedOptions& options) const {
  return std::make_unique<ImageFeed>(dataset_, options);
}

std::unique_ptr<SampleSet> Classification::OpenSamples() const {
  return std::make_unique<ImageSamples>(dataset_);
}

torch::Tensor ImageTask::Loss(Model& model, const Batch& batch, ModelState&, double smoothing,
                              double* squares) const {
  constexpr int64_t kIgnored = -100;  // LibTorch's default: no label is left out
  const torch::Tensor logits = model.Forward(batch.inputs);
  if (squares != nullptr) {
    *squares = MeanSquare(torch::cross_entropy_loss(logits.detach(), batch.targets, {},
                                                    at::Reduction::None, kIgnored, smoothing));
  }
  return torch::cross_entropy_loss(logits, batch.targets, {}, at::Reduction::Mean, kIgnored,
                                   smoothing);
}

int64_t ImageTask::Parts(int64_t batch) const { return (TestSamples() + batch - 1) / batch; }

MetricSums ImageTask::Evaluate(Model& model, int64_t part, int64_t batch) const {
  const int64_t first = part * batch;
  const Batch test = TestImages(first, std::min(batch, TestSamples() - first));
  const torch::Tensor logits = model.Forward(test.inputs);
  const ClassificationSums sums = SumsOf(logits, test.targets);
  return {sums.loss.item<double>(),
          static_cast<double>(logits.size(0)),
          {static_cast<double>(sums.hits.item<int64_t>()),
           static_cast<double>(sums.hits5.item<int64_t>())}};
}

Batch Classification::TestImages(int64_t first, int64_t count) const {
  return TestBatch(dataset_, first, count);
}

ClassificationSums SumsOf(const torch::Tensor& logits, const torch::Tensor& labels) {
  constexpr int64_t kMost = 5;
  const torch::Tensor own = logits.gather(1, labels.unsqueeze(1));
  const torch::Tensor classes = torch::arange(logits.size(1), labels.options()).unsqueeze(0);
  const torch::Tensor before =
      (logits > own).logical_or((logits == own).logical_and(classes < labels.unsqueeze(1)));
  return {torch::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum),
          (logits.argmax(1) == labels).sum(), (before.sum(1) < kMost).sum()};
}

ImageFeed::ImageFeed(const Dataset& dataset, const FeedOptions& options)
    : dataset_(dataset),
      seed_(options.seed),
      sampler_(dataset.train_labels.size(0), options.workers, options.batch_size, options.seed) {}

void ImageFeed::Seek(int64_t step) {
  step_ = step;
  sampler_.Seek(step);
}

Batch ImageFeed::Get(int worker) const {
  return TrainingBatch(dataset_, sampler_.Batch(worker), AugmentKey(worker));
}

std::optional<RandomKey> ImageFeed::AugmentKey(int worker) const {
  if (dataset_.augment == Augmentation::kNone) return std::nullopt;
  return RandomKey{.seed = seed_,
                   .step = static_cast<uint64_t>(step_),
                   .worker = static_cast<uint32_t>(worker),
                   .layer = 0,
                   .purpose = Purpose::kAugment};
}

}  // namespace legacy
