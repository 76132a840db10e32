#include "trainer/data/sampler.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace legacy::sampler_test {
namespace {

std::vector<int64_t> Taken(Sampler& sampler, int64_t step, int workers) {
  sampler.Seek(step);
  std::vector<int64_t> all;
  for (int w = 0; w < workers; ++w) {
    const auto batch = sampler.Batch(w);
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

TEST(Sampler, AnEpochTakesEachSampleAtMostOnce) {
  Sampler sampler(107, 5, 4, 1);  // shards of 21: 5 batches of 4
  EXPECT_EQ(sampler.StepsPerEpoch(), 5);
  std::set<int64_t> seen;
  for (int64_t step = 5; step < 10; ++step) {
    for (int64_t sample : Taken(sampler, step, 5)) {
      EXPECT_TRUE(sample >= 0 && sample < 107);
      EXPECT_TRUE(seen.insert(sample).second) << "sample " << sample << " twice";
    }
  }
  EXPECT_EQ(seen.size(), 100u);
}

TEST(Sampler, DependsOnSeedAndStepAlone) {
  Sampler forward(200, 4, 5, 3);
  Sampler random_access(200, 4, 5, 3);
  Sampler other(200, 4, 5, 4);
  const auto late = Taken(random_access, 23, 4);
  for (int64_t step = 0; step < 23; ++step) Taken(forward, step, 4);
  EXPECT_EQ(Taken(forward, 23, 4), late);
  EXPECT_NE(Taken(other, 23, 4), late);
  EXPECT_NE(Taken(forward, 0, 4), Taken(random_access, 10, 4)) << "epochs are shuffled again";
}

TEST(Sampler, RefusesBatchesThatTheDataCannotFill) {
  EXPECT_THROW(Sampler(19, 4, 5, 1), Error);
  EXPECT_THROW(Sampler(19, 0, 5, 1), Error);
  EXPECT_THROW(Sampler(19, 4, 0, 1), Error);
  EXPECT_EQ(Sampler(20, 4, 5, 1).StepsPerEpoch(), 1);
}

}  // namespace
}  // namespace legacy::sampler_test