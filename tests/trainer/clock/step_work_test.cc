#include "trainer/clock/step_work.h"

#include <gtest/gtest.h>

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