#include "trainer/clock/step_work.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace legacy::step_work_test {
namespace {

BucketWork Unit(int layer, int64_t elements, std::vector<SentCall> calls) {
  return {{layer}, elements, std::move(calls)};
}

SentCall Gather(std::vector<int64_t> bytes, int root = 0) {
  SentCall call;
  call.root = root;
  call.bytes = std::move(bytes);
  call.encode = {{"topk.encode", 10, 1}};
  return call;
}

TEST(StepWork, WorkIsAddedKernelByKernel) {
  std::vector<Work> total;
  AddWork({"a", 5, 1}, total);
  AddWork({"", 7, 1}, total);
  AddWork({"b", 1, 2}, total);
  AddWork({"a", 6, 3}, total);
  ASSERT_EQ(total.size(), 2u);
  EXPECT_EQ(total[0].elements, 11);
  EXPECT_EQ(total[0].launches, 4);
  EXPECT_EQ(total[0].sets, 2) << "one after the other";
  EXPECT_EQ(total[1].elements, 1);
}

TEST(StepWork, UnitsOfOneStructureTravelTogether) {
  const std::vector<BucketWork> units = {Unit(4, 100, {Gather({1, 2})}), Unit(3, 10, {}),
                                         Unit(2, 50, {Gather({30, 40})}),
                                         Unit(1, 7, {Gather({5, 5}, 1)})};
  const std::vector<BucketWork> merged = MergeUnits(units);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].layers, (std::vector<int>{4, 2}));
  EXPECT_EQ(merged[0].elements, 150);
  EXPECT_EQ(merged[0].calls[0].bytes, (std::vector<int64_t>{31, 42}));
  EXPECT_EQ(merged[0].calls[0].encode[0].elements, 20);
  EXPECT_EQ(merged[0].calls[0].encode[0].launches, 2);
  EXPECT_EQ(merged[0].calls[0].encode[0].sets, 1) << "both units in one set";
  EXPECT_TRUE(merged[1].calls.empty());
  EXPECT_EQ(merged[2].layers, (std::vector<int>{1})) << "another root travels alone";

  const StepWork step{.workers = 2, .batch_size = 1, .buckets = merged};
  EXPECT_EQ(step.MessageBytes(0), 36);
  EXPECT_EQ(step.MessageBytes(1), 47);
}

TEST(StepWork, PartsOfAllToAllsAreAddedPairByPair) {
  std::vector<BucketWork> units;
  for (const int64_t bytes : {10, 20}) {
    SentCall call;
    call.collective = Collective::kAllToAll;
    call.bytes.resize(3);
    // Worker 1 is not active.
    const std::vector<int> active = {0, 2};
    SetSent(0, bytes, std::vector<int64_t>{1, bytes - 1}, active, call);
    SetSent(2, 5, std::vector<int64_t>{5, 0}, active, call);
    EXPECT_EQ(call.pair_bytes, (std::vector<int64_t>{1, 0, bytes - 1, 0, 0, 0, 5, 0, 0}));
    EXPECT_THROW(SetSent(0, 6, std::vector<int64_t>{5, 0}, active, call), Error);
    EXPECT_THROW(SetSent(0, 6, std::vector<int64_t>{6}, active, call), Error);
    units.push_back(Unit(static_cast<int>(units.size()), 10, {call}));
  }
  SentCall equal;  // without parts
  equal.collective = Collective::kAllToAll;
  equal.bytes = {4, 0, 4};
  units.push_back(Unit(2, 10, {equal}));
  const std::vector<BucketWork> merged = MergeUnits(units);
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].calls[0].bytes, (std::vector<int64_t>{30, 0, 10}));
  EXPECT_EQ(merged[0].calls[0].pair_bytes, (std::vector<int64_t>{2, 0, 28, 0, 0, 0, 10, 0, 0}));
}

TEST(StepWork, UnitsThatAreNotAlikeShareNoLaunches) {
  std::vector<BucketWork> units;
  for (const int64_t bits : {4, 8, 4}) {
    SentCall call = Gather({1, 2});
    call.encode = {{.kernel = "qsgd.encode", .elements = 10, .alike = bits}};
    units.push_back(Unit(static_cast<int>(units.size()), 10, {call}));
  }
  const std::vector<BucketWork> merged = MergeUnits(units);
  ASSERT_EQ(merged.size(), 1u);
  const std::vector<Work>& encode = merged[0].calls[0].encode;
  ASSERT_EQ(encode.size(), 2u);
  EXPECT_EQ(encode[0].elements, 20);
  EXPECT_EQ(encode[0].launches, 2);
  EXPECT_EQ(encode[0].sets, 1);
  EXPECT_EQ(encode[1].sets, 1);
}

}  // namespace
}  // namespace legacy::step_work_test