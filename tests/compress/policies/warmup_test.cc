#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "compress/policy.h"
#include "tests/compress/test_data.h"

namespace legacy::warmup_test {
namespace {

// Returns the parameter in the middle of each of the first `epochs` epochs of 10 steps.
std::vector<double> ByEpoch(const std::string& policy, const std::string& scheme, double anchor,
                            int64_t epochs) {
  const auto made = MakeScheme(scheme);
  const PolicyContext context = {.scheme = made.get(),
                                 .units = test::MakeUnits({100}),
                                 .workers = 1,
                                 .total_steps = 1000,
                                 .steps_per_epoch = 10,
                                 .parameter = anchor,
                                 .seed = 1};
  const auto warmup = MakePolicy(policy, context);
  std::vector<double> parameters;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    double parameter = 0;
    warmup->Decide({.step = 10 * epoch + 5}, context.units, std::span(&parameter, 1));
    parameters.push_back(parameter);
  }
  return parameters;
}

TEST(Warmup, PublishedNumbersAreTheFormulaOfFourEpochs) {
  const auto published = ByEpoch("warmup:form=published", "topk", 0.001, 6);
  const double printed[] = {0.25, 0.063, 0.016, 0.004, 0.001, 0.001};
  for (size_t e = 0; e < 6; ++e) EXPECT_NEAR(published[e], printed[e], 0.02 * printed[e]);
  EXPECT_EQ(ByEpoch("warmup:epochs=4", "topk", 0.001, 6), published);
}

TEST(Warmup, Formula) {
  const auto parameters = ByEpoch("warmup", "topk", 0.001, 7);
  for (size_t e = 0; e < 5; ++e) {
    EXPECT_NEAR(parameters[e], std::pow(0.001, (double(e) + 1) / 6), 1e-12);
  }
  EXPECT_EQ(parameters[5], 0.001);
  EXPECT_EQ(parameters[6], 0.001);
}

TEST(Warmup, DenseAndSteps) {
  EXPECT_EQ(ByEpoch("warmup:form=dense,epochs=2", "topk", 0.01, 4),
            (std::vector<double>{1, 1, 0.01, 0.01}));
  EXPECT_EQ(ByEpoch("warmup:form=dense,steps=16", "topk", 0.01, 3),
            (std::vector<double>{1, 1, 0.01}));
  EXPECT_EQ(ByEpoch("warmup:epochs=2,steps=20", "topk", 0.001, 3),
            ByEpoch("warmup:epochs=2", "topk", 0.001, 3));
}

TEST(Warmup, KeptFractionOfTheta) {
  const auto parameters = ByEpoch("warmup:epochs=1", "fft", 0.99, 2);
  EXPECT_NEAR(parameters[0], 0.9, 1e-9);  // 1 - sqrt(0.01)
  EXPECT_EQ(parameters[1], 0.99);
}

TEST(Warmup, RefusesOtherParameters) {
  EXPECT_THROW(ByEpoch("warmup", "dense", 1, 1), Error);
  EXPECT_THROW(ByEpoch("warmup:epochs=0", "topk", 0.1, 1), Error);
}

}  // namespace
}  // namespace legacy::warmup_test