#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "compress/policies/gravac_scale.h"
#include "tests/compress/policy_driver.h"

namespace legacy::gravac_test {
namespace {

using Factors = std::vector<double>;

TEST(GravacFactors, SequencesOfThePaper) {
  EXPECT_EQ(GravacFactors(10, 1000, GravacScaling::kExponential), (Factors{10, 20, 40, 160, 1000}));
  EXPECT_EQ(GravacFactors(10, 2000, GravacScaling::kGeometric),
            (Factors{10, 20, 40, 80, 160, 320, 640, 1280, 2000}));
  EXPECT_EQ(GravacFactors(10, 20, GravacScaling::kGeometric), (Factors{10, 20}));
  EXPECT_EQ(GravacFactors(10, 10, GravacScaling::kGeometric), (Factors{10}));
}

GravacScale Geometric(const GravacRules& rules) {
  return GravacScale(GravacFactors(10, 2000, GravacScaling::kGeometric), rules);
}

TEST(GravacScale, StaysAtTheLowerOfTwoEqualThroughputs) {
  GravacScale scale = Geometric({.epsilon = 0, .omega = 0.01, .smoothing = 1});
  double throughput = 100;
  while (scale.current() < 1280) {
    EXPECT_EQ(scale.Weigh(0.9, 1), GravacBranch::kCurrent);
    scale.Record(throughput);
    throughput *= 1.1;
    scale.EndWindow();
    EXPECT_FALSE(scale.stays());
  }
  scale.Weigh(0.9, 1);
  scale.Record(1029.9);
  scale.EndWindow();
  EXPECT_EQ(scale.current(), 2000);
  scale.Weigh(0.9, 1);
  scale.Record(1035.4);
  scale.EndWindow();
  EXPECT_TRUE(scale.stays());
  EXPECT_EQ(scale.current(), 1280);
  scale.EndWindow();
  EXPECT_EQ(scale.current(), 1280);  // settled
  scale.Release();
  scale.Weigh(0.9, 1);
  scale.Record(1.0);
  scale.EndWindow();
  EXPECT_EQ(scale.current(), 2000);
}

TEST(GravacScale, FallsBackByGain) {
  GravacScale scale = Geometric({.epsilon = 0.7, .omega = 0.01, .smoothing = 1});
  EXPECT_EQ(scale.Weigh(0.7, 0.7), GravacBranch::kCurrent);  // the bound itself passes
  scale.EndWindow();
  EXPECT_EQ(scale.current(), 20);
  EXPECT_EQ(scale.Weigh(0.8, 0.69), GravacBranch::kMinimum);
  EXPECT_EQ(scale.Weigh(0.69, 0.5), GravacBranch::kDense);
}

TEST(GravacScale, MinimumRisesWhereNothingIsLost) {
  GravacScale scale = Geometric({.epsilon = 0.5, .omega = 0.01, .smoothing = 0.5});
  scale.Weigh(1, 1);
  scale.EndWindow();
  scale.Weigh(0.9, 0.895);
  // The averages are .95 and .895, which is more than 1 % apart.
  scale.EndWindow();
  EXPECT_EQ(scale.minimum(), 10);
  EXPECT_EQ(scale.current(), 40);
  for (int i = 0; i < 8; ++i) scale.Weigh(0.9, 0.899);
  scale.EndWindow();
  EXPECT_EQ(scale.minimum(), 40);
  EXPECT_EQ(scale.current(), 80);
}

TEST(GravacScale, MinimumComesDownToWhereItStays) {
  GravacScale scale = Geometric({.epsilon = 0, .omega = 0.01, .smoothing = 1});
  for (int window = 0; window < 2; ++window) {
    scale.Weigh(1, 1);
    scale.Record(5);
    scale.EndWindow();
  }
  EXPECT_TRUE(scale.stays());
  EXPECT_EQ(scale.current(), 10);
  EXPECT_EQ(scale.minimum(), 10);
}

TEST(GravacScale, AveragesStartWithTheirFirstSample) {
  GravacScale scale = Geometric({.epsilon = 0.5, .omega = 0, .smoothing = 0.1});
  EXPECT_EQ(scale.Weigh(0.9, 0.9), GravacBranch::kCurrent);
  scale.EndWindow();
  // The average of theta_cur is new: it is not .9 + .1 (.2 - .9) = .83, which would pass.
  EXPECT_EQ(scale.Weigh(0.9, 0.2), GravacBranch::kMinimum);
}

constexpr int kWorkers = 4;

PolicyContext Context() {
  return {.scheme = nullptr,
          .units = test::MakeUnits({20000, 300}),
          .workers = kWorkers,
          .total_steps = 100,
          .steps_per_epoch = 10,
          .parameter = 0.01,
          .seed = 1};
}

StepInfo At(int64_t step, double rate = 1) {
  return {.step = step, .total_steps = 100, .learning_rate = rate, .steps_per_epoch = 10};
}

StepFeedback Lasted(double seconds) {
  StepFeedback feedback;
  feedback.simulated_seconds = seconds;
  return feedback;
}

// Returns gradients with heavy tails, in which a few elements hold nearly all energy.
std::vector<float> HeavyTails(int64_t step, int worker) {
  auto flat = test::Normals(20300, static_cast<uint64_t>(100 * step + worker + 1));
  for (float& x : flat) x = std::pow(std::abs(x), 9.0f);
  return flat;
}

TEST(Gravac, EpsilonZeroClimbsToTheTop) {
  test::PolicyDriver driver("gravac:eps=0,window=2,omega=0.001", "topk", Context());
  std::vector<double> seen;
  for (int64_t step = 0; step < 14; ++step) {
    // Steps get faster, so that no two throughputs are equal.
    const auto result = driver.Step(At(step), HeavyTails, Lasted(std::exp2(-step)));
    EXPECT_DOUBLE_EQ(result.parameters[0], result.decided[0]);  // always theta_cur
    seen.push_back(std::round(1 / result.parameters[0]));
  }
  // A window ends with the agreement that carries the time of its last step.
  EXPECT_EQ(seen, (std::vector<double>{10, 10, 10, 20, 20, 40, 40, 160, 160, 1000, 1000, 1000, 1000,
                                       1000}));
}

TEST(Gravac, EpsilonOneSendsEverything) {
  test::PolicyDriver driver("gravac:eps=1,window=2", "topk", Context());
  for (int64_t step = 0; step < 8; ++step) {
    const auto result = driver.Step(At(step), HeavyTails, Lasted(0.1));
    EXPECT_EQ(result.parameters, (std::vector<double>{1, 1})) << step;
    for (size_t u = 0; u < 2; ++u) EXPECT_EQ(test::ResidualSquared(driver.exchange(u), 0), 0);
  }
  // Gradients of zeros lose nothing, and are compressed.
  const auto zeros = [](int64_t, int) { return std::vector<float>(20300); };
  test::PolicyDriver still("gravac:eps=1,window=2", "topk", Context());
  EXPECT_DOUBLE_EQ(still.Step(At(0), zeros, Lasted(0.1)).parameters[0], 0.1);
}

class GravacProbe : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(, GravacProbe, testing::Values("levels", "estimate"));

TEST_P(GravacProbe, MassIsConservedInEveryBranch) {
  test::PolicyDriver driver(
      std::string("gravac:eps=0.9,window=1,theta_min=2,theta_max=8,scaling=geometric,probe=") +
          GetParam(),
      "topk", Context());
  std::vector<double> owed(20300);
  std::set<double> densities;
  for (int64_t step = 0; step < 24; ++step) {
    // Gradients are spread out and concentrated in turn, and differ between workers.
    const auto gradients = [](int64_t s, int w) {
      auto flat = test::Normals(20300, static_cast<uint64_t>(100 * s + w + 1));
      const float power = s % 8 < 4 ? 6 : 1;
      for (float& x : flat) x = std::copysign(std::pow(std::abs(x), power), x);
      return flat;
    };
    const auto result = driver.Step(At(step), gradients, Lasted(1 + 0.1 * double(step)));
    densities.insert(result.parameters[0]);
    for (int w = 0; w < kWorkers; ++w) {
      const auto gradient = gradients(step, w);
      for (size_t i = 0; i < owed.size(); ++i) owed[i] += double{gradient[i]} / kWorkers;
    }
    for (size_t i = 0; i < owed.size(); ++i) owed[i] -= result.mean[i];
  }
  EXPECT_GE(densities.size(), 3u);  // dense and at least two candidates
  for (size_t i = 0; i < owed.size(); ++i) {
    double residual = 0;
    const size_t u = i < 20000 ? 0 : 1;
    for (int w = 0; w < kWorkers; ++w) {
      residual += driver.exchange(u).Residual(w)[u == 0 ? i : i - 20000];
    }
    ASSERT_NEAR(residual / kWorkers, owed[i], 1e-2 * (1 + std::abs(owed[i]))) << i;
  }
}

TEST(Gravac, TheGainIsAveragedOverAllWorkers) {
  // Worker 0 alone would compress, as its gradient is one element; the others would not.
  const auto gradients = [](int64_t step, int worker) {
    if (worker > 0) return test::Normals(20300, static_cast<uint64_t>(10 * step + worker));
    std::vector<float> one(20300);
    one[5] = 3;
    return one;
  };
  test::PolicyDriver driver("gravac:eps=0.7", "topk", Context());
  const auto result = driver.Step(At(0), gradients, Lasted(1));
  EXPECT_EQ(result.parameters[0], 1);
  ASSERT_EQ(result.agreement.size(), size_t{kWorkers});
  for (const Message& message : result.agreement) EXPECT_EQ(message.size(), 16 + 32);
}

// Gains use the energies that were measured: in fp32, 2^24 of 2 (2^24 + 1) would round to a half.
TEST(Gravac, EnergiesTravelInFull) {
  test::PolicyDriver driver("gravac:eps=0.5", "topk", Context());
  Policy& policy = driver.policy();
  std::vector<double> parameters(Context().units.size());
  policy.Decide(At(0), Context().units, parameters);
  ASSERT_TRUE(policy.OpenCall(PolicyMoment::kAgreement));
  const std::vector<Probe> probes = {{.squared = 2 * 16777217.0, .kept = {2 * 16777217.0, 0x1p24}}};
  policy.Accumulate(0, policy.Encode(0, probes).bytes);
  policy.FinishCall();
  EXPECT_EQ(policy.Chosen(), 0u);  // sends everything
}

TEST(Gravac, ProbesAreCharged) {
  for (const bool charged : {true, false}) {
    test::PolicyDriver driver(
        std::string("gravac:eps=1,charge_dense_probe=") + (charged ? "on" : "off"), "topk",
        Context());
    EXPECT_TRUE(driver.policy().Traits().reads_clock);
    driver.Step(At(0), HeavyTails, Lasted(1));  // dense
    const WorkList work = driver.Step(At(1), HeavyTails, Lasted(1)).policy_work;
    ASSERT_EQ(work.size(), charged ? 3u : 0u);
    if (!charged) continue;
    EXPECT_EQ(work[0].kernel, "norm");
    EXPECT_EQ(work[0].elements, 20300 + 2030);
    EXPECT_EQ(work[1].kernel, "topk.encode");
    EXPECT_EQ(work[1].elements, 20300) << "nothing stricter is tried yet";
    EXPECT_EQ(work[2].kernel, "moved");
    EXPECT_GT(work[2].elements, 0) << "the sample and the candidates of Top-K";
  }
}

// Each unit is read once for the table, and compressed once.
TEST(Gravac, EstimatesAreChargedAsOneTable) {
  test::PolicyDriver driver("gravac:probe=estimate", "topk", Context());
  const WorkList work = driver.Step(At(0), HeavyTails, Lasted(1)).policy_work;
  ASSERT_EQ(work.size(), 2u);
  EXPECT_EQ(work[0].kernel, "norm");
  EXPECT_EQ(work[1].kernel, "histogram");
  EXPECT_EQ(work[1].elements, 20300);
}

// The value that is compared with eps is logged: the moving average of the steps' gains, which
// workers' sums in the agreement give, and not the gain of the step in which a window ends.
TEST(Gravac, LogsTheAverageThatItCompares) {
  test::PolicyDriver driver("gravac:eps=0,window=4,theta_min=10,theta_max=10", "topk", Context());
  double average = 0, gain = 0;
  std::vector<Decision> log;
  for (int64_t step = 0; step <= 4; ++step) {
    const auto result = driver.Step(At(step), HeavyTails, Lasted(1));
    double kept = 0, all = 0;
    for (const Message& message : result.agreement) {
      std::array<double, 4> fields{};  // kept by the least and the current factor, all, seconds
      std::memcpy(fields.data(), message.bytes.data() + message.bytes.size() - sizeof fields,
                  sizeof fields);
      kept += fields[1];
      all += fields[2];
    }
    gain = kept / all;
    average = step == 0 ? gain : average + kWorkers / 100.0 * (gain - average);
    for (Decision& decision : driver.policy().TakeDecisions()) log.push_back(std::move(decision));
  }
  ASSERT_FALSE(log.empty());
  EXPECT_EQ(log.back().step, 5);
  EXPECT_THAT(log.back().grounds.reason, ::testing::StartsWith("window ended"));
  EXPECT_DOUBLE_EQ(log.back().grounds.gain, average);
  EXPECT_NE(log.back().grounds.gain, gain);
}

TEST(Gravac, ReleasedWhenTheRateDrops) {
  for (const bool release : {false, true}) {
    test::PolicyDriver driver(
        std::string("gravac:eps=0,window=1,release_on_lr=") + (release ? "on" : "off"), "topk",
        Context());
    // Equal times and no loss settle the scale at once, at the lowest factor.
    const auto one = [](int64_t, int) {
      std::vector<float> flat(20300);
      flat[7] = 1;
      return flat;
    };
    for (int64_t step = 0; step < 6; ++step) driver.Step(At(step), one, Lasted(1));
    const double settled = driver.Step(At(6), one, Lasted(1)).parameters[0];
    EXPECT_DOUBLE_EQ(settled, 0.1);
    double last = 0;
    for (int64_t step = 7; step < 12; ++step) {
      last = driver.Step(At(step, 0.1), one, Lasted(std::exp2(-step))).parameters[0];
    }
    if (release) {
      EXPECT_LT(last, settled);
    } else {
      EXPECT_EQ(last, settled);
    }
  }
}

TEST(Gravac, RefusesSchemesWithoutCandidates) {
  for (const char* scheme : {"dense", "ar-topk", "threshold"}) {
    try {
      test::PolicyDriver("gravac", scheme, Context());
      ADD_FAILURE() << scheme;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("topk"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(test::PolicyDriver("gravac:theta_max=5", "topk", Context()), Error);
}

}  // namespace
}  // namespace legacy::gravac_test