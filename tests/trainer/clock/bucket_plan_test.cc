#include "trainer/clock/bucket_plan.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"

namespace legacy::bucket_plan_test {
namespace {

std::vector<Unit> Layers(const std::vector<int64_t>& numels) {
  std::vector<Unit> layers;
  int64_t offset = 0;
  for (int64_t numel : numels) {
    const auto id = static_cast<uint32_t>(layers.size());
    layers.push_back({id, "layer" + std::to_string(id), {numel}, offset, numel});
    offset += numel;
  }
  return layers;
}

// Returns the layers of each bucket, in backward order.
std::vector<std::vector<int>> BucketLayers(const UnitPlan& plan) {
  std::vector<std::vector<int>> buckets;
  for (const Bucket& bucket : plan.buckets) {
    buckets.emplace_back();
    for (int unit : bucket.units) {
      const std::vector<int>& layers = plan.unit_layers[unit];
      buckets.back().insert(buckets.back().end(), layers.rbegin(), layers.rend());
    }
  }
  return buckets;
}

TEST(BucketPlan, ClosesABucketWithTheLayerThatReachesItsSize) {
  // In backward order the layers have 20, 20, 20, 400, 40 and 40 bytes; the first bucket closes at
  // 50 bytes, the others at 200.
  const auto layers = Layers({10, 10, 100, 5, 5, 5});
  const UnitPlan plan = PlanUnits(layers, Scope::kLayer, {50, 200});
  EXPECT_EQ(BucketLayers(plan), (std::vector<std::vector<int>>{{5, 4, 3}, {2}, {1, 0}}));
  EXPECT_EQ(plan.units.size(), 6u);
}

TEST(BucketPlan, UnitsCoverTheGradientOnceInEveryScope) {
  const auto layers = Layers({3, 700, 1, 90, 90, 5000, 8});
  for (Scope scope : {Scope::kLayer, Scope::kBucket, Scope::kModel}) {
    const UnitPlan plan = PlanUnits(layers, scope, {100, 1000});
    int64_t next = 0;
    for (size_t u = 0; u < plan.units.size(); ++u) {
      EXPECT_EQ(plan.units[u].id, u);
      EXPECT_EQ(plan.units[u].offset, next);
      EXPECT_EQ(std::accumulate(plan.units[u].shape.begin(), plan.units[u].shape.end(), int64_t{1},
                                std::multiplies<>()),
                plan.units[u].numel);
      next += plan.units[u].numel;
    }
    EXPECT_EQ(next, 5892);
    std::vector<int> order;
    for (const auto& bucket : BucketLayers(plan)) {
      order.insert(order.end(), bucket.begin(), bucket.end());
    }
    EXPECT_EQ(order, (std::vector<int>{6, 5, 4, 3, 2, 1, 0})) << plan.units.size();
  }
}

TEST(BucketPlan, ScopesDifferInUnitsNotInBuckets) {
  const auto layers = Layers({100, 200, 300, 400});
  const UnitPlan by_layer = PlanUnits(layers, Scope::kLayer, {1600, 2000});
  const UnitPlan by_bucket = PlanUnits(layers, Scope::kBucket, {1600, 2000});
  EXPECT_EQ(BucketLayers(by_layer), BucketLayers(by_bucket));
  EXPECT_EQ(by_bucket.units.size(), by_bucket.buckets.size());
  const UnitPlan whole = PlanUnits(layers, Scope::kModel, {1600, 2000});
  ASSERT_EQ(whole.units.size(), 1u);
  EXPECT_EQ(whole.units[0].name, "model");
  EXPECT_EQ(whole.units[0].numel, 1000);
}

TEST(BucketPlan, RefusesWhatItDoesNotKnow) {
  EXPECT_THROW(ParseScope("tensor", "scope"), Error);
  EXPECT_THROW(PlanUnits(Layers({1}), Scope::kLayer, {1, 0}), Error);
  EXPECT_EQ(ParseScope("layer", "scope"), Scope::kLayer);
  EXPECT_EQ(ParseScope("bucket", "scope"), Scope::kBucket);
  EXPECT_EQ(ParseScope("model", "scope"), Scope::kModel);
}

}  // namespace
}  // namespace legacy::bucket_plan_test