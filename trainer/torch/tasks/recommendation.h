// Recommendation: a model gives the logit of the probability that a user meets an item. It learns
// from the pairs that met and from drawn negatives, and ranks one held-out item of each user among
// drawn ones (He et al.: Neural Collaborative Filtering, WWW 2017).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/data/ratings.h"
#include "trainer/torch/tasks/task.h"

namespace legacy {

class Recommendation : public Task {
 public:
  // Each training pair comes with `negatives` drawn items that the user has not met in training,
  // new ones in each epoch. The held-out items are ranked among `ratings.negatives` drawn ones,
  // which are always the same. Throws Error where there are none.
  Recommendation(Ratings ratings, int negatives);

  const TaskInfo& Info() const override { return InfoOf(TaskKind::kRecommendation); }
  const std::string& DataName() const override { return ratings_.name; }
  ModelRequest RequestFor(const std::string& model, uint64_t seed) const override;
  std::unique_ptr<Feed> Open(const FeedOptions& options) const override;
  // A sample is a pair with its negatives, 1 + `negatives` rows of a batch. Groups are users.
  std::unique_ptr<SampleSet> OpenSamples() const override;
  torch::Tensor Loss(Model& model, const Batch& batch, ModelState& state, double smoothing,
                     double* squares) const override;
  int64_t Parts(int64_t batch) const override;
  MetricSums Evaluate(Model& model, int64_t part, int64_t batch) const override;

 protected:
  // HR@10: the share of users whose item is among the first ten. NDCG@10: the mean of 1 / log2(2 +
  // its place) over all users, 0 beyond the tenth. Of equal scores, the held-out item comes last.
  std::vector<double> MetricsOf(const MetricSums& total) const override;

 private:
  Ratings ratings_;
  int negatives_;
  std::vector<int32_t> user_;    // user of each training pair
  std::vector<int32_t> tested_;  // users that have a held-out item
  std::vector<int32_t>
      ranked_;  // [tested users, ratings_.negatives]: items besides the held-out one
};

}  // namespace legacy
