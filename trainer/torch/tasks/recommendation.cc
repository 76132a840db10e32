#include "trainer/torch/tasks/recommendation.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "trainer/data/sampler.h"

namespace legacy {
namespace {

class PairFeed : public Feed {
 public:
  PairFeed(const Ratings& ratings, std::span<const int32_t> user, int negatives,
           const FeedOptions& options)
      : ratings_(ratings),
        user_(user),
        negatives_(negatives),
        options_(options),
        shard_(std::ssize(user) / options.workers),
        steps_per_epoch_(shard_ * (1 + negatives) / options.batch_size),
        sampler_(std::ssize(user), options.workers, std::max<int64_t>(1, shard_), options.seed) {
    if (steps_per_epoch_ < 1) {
      throw Error("batch-size", std::to_string(options.batch_size),
                  "at most " + std::to_string(shard_ * (1 + negatives)) + " for " +
                      std::to_string(options.workers) + " workers on " +
                      std::to_string(user.size()) + " pairs, each with " +
                      std::to_string(negatives) + " negatives");
    }
  }

  int64_t StepsPerEpoch() const override { return steps_per_epoch_; }
  void Seek(int64_t step) override {
    epoch_ = step / steps_per_epoch_;
    position_ = step % steps_per_epoch_;
    sampler_.Seek(epoch_);
  }

  // A shard's samples are its pairs in shuffled order, each followed by its negatives.
  Batch Get(int worker) const override {
    const int64_t group = 1 + negatives_;
    const std::span<const int64_t> shard = sampler_.Batch(worker);
    torch::Tensor inputs = torch::empty({options_.batch_size, 2}, torch::kInt64);
    torch::Tensor targets = torch::empty({options_.batch_size});
    auto* input = inputs.data_ptr<int64_t>();
    auto* target = targets.data_ptr<float>();
    for (int64_t i = 0; i < options_.batch_size; ++i) {
      const int64_t sample = position_ * options_.batch_size + i;
      const int64_t pair = shard[sample / group];
      const int64_t number = sample % group;
      *input++ = user_[pair];
      *input++ = number == 0 ? ratings_.train_items[pair] : Negative(pair, number);
      *target++ = number == 0 ? 1 : 0;
    }
    return {inputs, targets};
  }

 private:
  // The draws are those of the pair and epoch, so that they do not depend on which worker trains on
  // it.
  int32_t Negative(int64_t pair, int64_t number) const {
    RandomStream random({.seed = options_.seed,
                         .step = static_cast<uint64_t>(epoch_ * std::ssize(user_) + pair),
                         .worker = static_cast<uint32_t>(number),
                         .layer = 0,
                         .purpose = Purpose::kNegatives});
    return DrawNegative(ratings_, user_[pair], random);
  }

  const Ratings& ratings_;
  std::span<const int32_t> user_;
  int64_t negatives_;
  FeedOptions options_;
  int64_t shard_;  // pairs of a worker
  int64_t steps_per_epoch_;
  Sampler sampler_;  // of whole shards
  int64_t epoch_ = 0;
  int64_t position_ = 0;
};

class PairSamples : public SampleSet {
 public:
  PairSamples(const Ratings& ratings, std::span<const int32_t> user, int negatives)
      : ratings_(ratings), user_(user), negatives_(negatives) {}

  SampleLabels Labels() const override {
    return {.samples = std::ssize(user_), .groups = user_, .group_count = ratings_.users};
  }
  Batch Gather(std::span<const int64_t> samples, const RandomKey& key) const override {
    RandomKey drawn = key;
    drawn.purpose = Purpose::kNegatives;
    RandomStream random(drawn);
    const int64_t rows = std::ssize(samples) * (1 + negatives_);
    torch::Tensor inputs = torch::empty({rows, 2}, torch::kInt64);
    torch::Tensor targets = torch::empty({rows});
    auto* input = inputs.data_ptr<int64_t>();
    auto* target = targets.data_ptr<float>();
    for (const int64_t pair : samples) {
      for (int number = 0; number <= negatives_; ++number) {
        *input++ = user_[pair];
        *input++ =
            number == 0 ? ratings_.train_items[pair] : DrawNegative(ratings_, user_[pair], random);
        *target++ = number == 0 ? 1 : 0;
      }
    }
    return {inputs, targets};
  }

 private:
  const Ratings& ratings_;
  std::span<const int32_t> user_;
  int negatives_;
};

}  // namespace

Recommendation::Recommendation(Ratings ratings, int negatives)
    : ratings_(std::move(ratings)),
      negatives_(negatives),
      user_(ratings_.TrainUsers()),
      tested_(ratings_.EvaluatedUsers()) {
  constexpr uint64_t kRankingSeed = 1;  // the same for all trainings
  const std::string where = "data set " + ratings_.name + ": ";
  if (user_.empty()) throw Error(where + "training pairs", "0", "at least 1");
  if (tested_.empty()) throw Error(where + "users with a held-out item", "0", "at least 1");
  for (const int32_t user : tested_) {
    const auto drawn = EvaluationNegatives(ratings_, user, ratings_.negatives, kRankingSeed);
    ranked_.insert(ranked_.end(), drawn.begin(), drawn.end());
  }
}

ModelRequest Recommendation::RequestFor(const std::string& model, uint64_t seed) const {
  return {.name = model,
          .channels = 0,
          .height = 0,
          .width = 0,
          .classes = 0,
          .seed = seed,
          .task = TaskKind::kRecommendation,
          .users = ratings_.users,
          .items = ratings_.items};
}

std::unique_ptr<Feed> Recommendation::Open(const FeedOptions& options) const {
  return std::make_unique<PairFeed>(ratings_, user_, negatives_, options);
}

std::unique_ptr<SampleSet> Recommendation::OpenSamples() const {
  return std::make_unique<PairSamples>(ratings_, user_, negatives_);
}

torch::Tensor Recommendation::Loss(Model& model, const Batch& batch, ModelState&, double smoothing,
                                   double* squares) const {
  const torch::Tensor targets = batch.targets * (1 - smoothing) + smoothing / 2;
  const torch::Tensor logits = model.Forward(batch.inputs);
  if (squares != nullptr) {
    *squares = MeanSquare(torch::binary_cross_entropy_with_logits(logits.detach(), targets, {}, {},
                                                                  at::Reduction::None));
  }
  return torch::binary_cross_entropy_with_logits(logits, targets);
}

int64_t Recommendation::Parts(int64_t batch) const {
  return (std::ssize(tested_) + batch - 1) / batch;
}

MetricSums Recommendation::Evaluate(Model& model, int64_t part, int64_t batch) const {
  constexpr int64_t kFirst = 10;
  const int64_t begin = part * batch;
  const int64_t users = std::min(batch, std::ssize(tested_) - begin);
  const int64_t others = ratings_.negatives;
  torch::Tensor inputs = torch::empty({users * (1 + others), 2}, torch::kInt64);
  auto* input = inputs.data_ptr<int64_t>();
  for (int64_t u = 0; u < users; ++u) {
    const int32_t user = tested_[begin + u];
    for (int64_t i = 0; i <= others; ++i) {
      *input++ = user;
      *input++ = i == 0 ? ratings_.held_out[user] : ranked_[(begin + u) * others + i - 1];
    }
  }
  const torch::Tensor logits = model.Forward(inputs).view({users, 1 + others});
  torch::Tensor targets = torch::zeros_like(logits);
  targets.select(1, 0).fill_(1);
  const torch::Tensor loss =
      torch::binary_cross_entropy_with_logits(logits, targets, {}, {}, at::Reduction::Sum);
  const torch::Tensor place =
      (logits.narrow(1, 1, others) >= logits.narrow(1, 0, 1)).sum(1).to(torch::kFloat64);
  const torch::Tensor hits = (place < kFirst).to(torch::kFloat64);
  const torch::Tensor gains = hits / (place + 2).log2();
  return {loss.item<double>(),
          static_cast<double>(logits.numel()),
          {hits.sum().item<double>(), gains.sum().item<double>(), static_cast<double>(users)}};
}

std::vector<double> Recommendation::MetricsOf(const MetricSums& total) const {
  return {total.values[0] / total.values[2], total.values[1] / total.values[2]};
}

}  // namespace legacy
