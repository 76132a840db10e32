// Drawn negatives, and ranks against a count by hand.
#include "trainer/torch/tasks/recommendation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "trainer/torch/training.h"

namespace legacy::recommendation_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Users take the items of their parity; one of them is held out.
Ratings Parity(int users, int items, int negatives) {
  Ratings ratings;
  ratings.name = "parity";
  ratings.users = users;
  ratings.items = items;
  ratings.negatives = negatives;
  ratings.starts.push_back(0);
  for (int user = 0; user < users; ++user) {
    const int held_out = (user % 2 + 2 * (user / 2)) % items;
    for (int item = user % 2; item < items; item += 2) {
      if (item != held_out) ratings.train_items.push_back(item);
    }
    ratings.starts.push_back(std::ssize(ratings.train_items));
    ratings.held_out.push_back(held_out);
  }
  return ratings;
}

TEST(Recommendation, AnEpochHasEachPairOnceWithItsNegatives) {
  const Ratings ratings = Parity(10, 20, 5);
  const Recommendation task(ratings, 3);
  const auto feed = task.Open({.workers = 2, .batch_size = 12});
  ASSERT_EQ(feed->StepsPerEpoch(), 15);  // 90 pairs, 45 each, 4 samples a pair
  std::map<int64_t, std::multiset<int64_t>> met;
  for (int step = 0; step < 15; ++step) {
    feed->Seek(step);
    for (int worker = 0; worker < 2; ++worker) {
      const Batch batch = feed->Get(worker);
      for (int64_t i = 0; i < 12; ++i) {
        const auto user = batch.inputs[i][0].item<int64_t>();
        const auto item = batch.inputs[i][1].item<int64_t>();
        const bool positive = i % 4 == 0;
        EXPECT_EQ(batch.targets[i].item<float>(), positive ? 1 : 0);
        EXPECT_EQ(ratings.Trains(static_cast<int32_t>(user), static_cast<int32_t>(item)), positive);
        if (positive) met[user].insert(item);
      }
    }
  }
  for (const auto& [user, items] : met) {
    EXPECT_EQ(items.size(), 9u);
    EXPECT_EQ(std::set(items.begin(), items.end()).size(), 9u);
  }
  feed->Seek(0);
  const Batch first = feed->Get(0);
  feed->Seek(15);
  EXPECT_FALSE(first.inputs.equal(feed->Get(0).inputs));
  feed->Seek(0);
  EXPECT_TRUE(first.inputs.equal(feed->Get(0).inputs));
}

TEST(Recommendation, MetricsAreThoseOfTheRanks) {
  constexpr int kUsers = 16, kItems = 60, kOthers = 25;
  const Ratings ratings = Parity(kUsers, kItems, kOthers);
  const Recommendation task(ratings, 1);
  const torch::NoGradGuard no_grad;
  const auto model = MakeModel(task.RequestFor("ncf:factors=4,dropout=0", 1));
  for (const torch::Tensor& parameter : model->parameters()) torch::Tensor(parameter).mul_(30);
  model->eval();
  double hits = 0, gain = 0;
  for (int user = 0; user < kUsers; ++user) {
    const auto score = [&](int item) {
      return model->Forward(torch::tensor({int64_t{user}, int64_t{item}}).view({1, 2}))
          .item<double>();
    };
    int before = 0;
    for (const int item : EvaluationNegatives(ratings, user, kOthers, 1)) {
      before += score(item) >= score(ratings.held_out[user]) ? 1 : 0;
    }
    if (before < 10) hits += 1, gain += 1 / std::log2(2.0 + before);
  }
  std::vector<MetricSums> parts;
  for (int64_t p = 0; p < task.Parts(5); ++p) parts.push_back(task.Evaluate(*model, p, 5));
  ASSERT_EQ(parts.size(), 4u);
  const Evaluation got = task.Conclude(parts);
  EXPECT_NEAR(got.metrics[0], hits / kUsers, 1e-12);
  EXPECT_NEAR(got.metrics[1], gain / kUsers, 1e-12);
  EXPECT_GT(hits, 0);
  EXPECT_LT(hits, kUsers);
}

TEST(Recommendation, LearnsParity) {
  const Recommendation task(Parity(40, 60, 25), 2);
  TrainingOptions options;
  options.workers = 2;
  options.batch_size = 60;
  options.total_steps = 150;
  options.schedule.learning_rate = 0.02;
  options.optimizer.kind = OptimizerKind::kAdam;
  Training training(options, task, task.RequestFor("ncf:factors=4,dropout=0", 1),
                    MakeUniformPolicy(0.2), MakeScheme("topk"));
  for (int step = 0; step < 150; ++step) training.Step();
  EXPECT_GT(training.Evaluate().metrics.front(), 0.95);
}

TEST(Recommendation, DataWithoutNegativesOrTestsAreRefused) {
  EXPECT_THAT(([&] { Recommendation(Parity(2, 4, 3), 1); }),
              ThrowsMessage<Error>(AllOf(HasSubstr("negatives"), HasSubstr("0 to 2"))));
  Ratings none = Parity(4, 8, 1);
  none.held_out.assign(4, -1);
  EXPECT_THAT(([&] { Recommendation(none, 1); }),
              ThrowsMessage<Error>(HasSubstr("users with a held-out item")));
}

}  // namespace
}  // namespace legacy::recommendation_test
