#include "ns3-module/fabric/step/straggler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::straggler_test {
namespace {

// Returns the factors of 50 workers over 400 steps.
std::vector<double> Sample(const std::string& text, uint64_t seed = 1) {
  std::vector<double> all;
  const auto model = MakeStragglers(text);
  for (uint64_t step = 0; step < 400; ++step) {
    const auto factors = model->Factors(50, seed, step);
    all.insert(all.end(), factors.begin(), factors.end());
  }
  return all;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST(Straggler, NoneAndFixedGiveTheirFactors) {
  EXPECT_EQ(MakeStragglers("none")->Factors(3, 1, 1), (std::vector<double>{1, 1, 1}));
  const auto listed = MakeStragglers("fixed:workers=0+2,factor=1.5");
  EXPECT_EQ(listed->Factors(4, 1, 1), (std::vector<double>{1.5, 1, 1.5, 1}));
  EXPECT_FALSE(listed->Transient());
  EXPECT_EQ(listed->Description(), "fixed:workers=0+2,factor=1.5");
  EXPECT_EQ(MakeStragglers("fixed:count=2,factor=3")->Factors(4, 1, 1),
            (std::vector<double>{1, 1, 3, 3}));
}

TEST(Straggler, LognormalHasMedianOneAndItsSigma) {
  std::vector<double> sample = Sample("lognormal:sigma=0.3");
  for (double& value : sample) value = std::log(value);
  const double mean = Mean(sample);
  double variance = 0;
  for (double value : sample) variance += (value - mean) * (value - mean);
  EXPECT_NEAR(mean, 0, 5 * 0.3 / std::sqrt(20'000));
  EXPECT_NEAR(std::sqrt(variance / 20'000), 0.3, 5 * 0.3 / std::sqrt(40'000));
}

TEST(Straggler, ExponentialIsShiftedByOne) {
  const std::vector<double> sample = Sample("exponential:scale=0.2");
  EXPECT_GT(*std::min_element(sample.begin(), sample.end()), 1);
  EXPECT_NEAR(Mean(sample), 1.2, 5 * 0.2 / std::sqrt(20'000));
  const double above = static_cast<double>(
      std::count_if(sample.begin(), sample.end(), [](double x) { return x > 1.4; }));
  EXPECT_NEAR(above / 20'000, std::exp(-2.0), 0.012);  // 5 standard deviations
}

TEST(Straggler, DrawsDependOnSeedStepAndWorkerAlone) {
  const auto model = MakeStragglers("lognormal:sigma=0.5");
  EXPECT_TRUE(model->Transient());
  const auto few = model->Factors(4, 9, 3);
  const auto many = model->Factors(8, 9, 3);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_NE(model->Factors(4, 9, 4), few);
  EXPECT_NE(model->Factors(4, 8, 3), few);
  EXPECT_EQ(MakeStragglers("lognormal:sigma=0.5")->Factors(4, 9, 3), few);
}

// Draws stay the same, so that results of earlier versions can be repeated.
TEST(Straggler, DrawsStayTheSame) {
  const auto lognormal = MakeStragglers("lognormal:sigma=0.5")->Factors(2, 9, 7);
  EXPECT_DOUBLE_EQ(lognormal[0], 0x1.b7c8181efb30ap+1);
  EXPECT_DOUBLE_EQ(lognormal[1], 0x1.6a7a93b145bc1p-1);
  const auto exponential = MakeStragglers("exponential:scale=0.2")->Factors(2, 9, 3);
  EXPECT_DOUBLE_EQ(exponential[0], 0x1.1d860590b9d51p+0);
  EXPECT_DOUBLE_EQ(exponential[1], 0x1.1ed7119574d4p+0);
}

TEST(Straggler, ParetoHasItsTail) {
  for (const double scale : {1.0, 0.5}) {
    const std::vector<double> sample =
        Sample("pareto:shape=2.5,scale=" + std::string(scale == 1 ? "1" : "0.5"));
    EXPECT_GE(*std::min_element(sample.begin(), sample.end()), 1);
    for (const double x : {1.5, 2.0, 4.0}) {
      const double tail = std::pow(1 + (x - 1) / scale, -2.5);  // P(factor > x)
      const double above = static_cast<double>(
          std::count_if(sample.begin(), sample.end(), [&](double f) { return f > x; }));
      EXPECT_NEAR(above / 20'000, tail, 5 * std::sqrt(tail / 20'000)) << x;
    }
  }
}

TEST(Straggler, SlowWorkersAreSlowSometimes) {
  const std::vector<double> sample = Sample("slow:probability=0.1,factor=4");
  const auto slow = std::count(sample.begin(), sample.end(), 4.0);
  EXPECT_EQ(slow + std::count(sample.begin(), sample.end(), 1.0), 20'000);
  EXPECT_NEAR(static_cast<double>(slow), 2000, 5 * std::sqrt(1800));
  EXPECT_EQ(Sample("slow:probability=0"), std::vector<double>(20'000, 1.0));
}

TEST(Straggler, DrawsLastForTheGivenSteps) {
  const auto each = MakeStragglers("pareto:shape=2");
  const auto five = MakeStragglers("pareto:shape=2,lasting=5");
  const auto run = MakeStragglers("pareto:shape=2,lasting=run");
  EXPECT_TRUE(five->Transient());
  EXPECT_FALSE(run->Transient());
  for (uint64_t step = 0; step < 15; ++step) {
    EXPECT_EQ(five->Factors(4, 1, step), each->Factors(4, 1, step / 5));
    EXPECT_EQ(run->Factors(4, 1, step), each->Factors(4, 1, 0));
  }
  EXPECT_NE(run->Factors(4, 1, 0), run->Factors(4, 2, 0));
}

TEST(Straggler, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) {
    return MessageOf([&] { MakeStragglers(text); });
  };
  EXPECT_NE(error("sometimes").find("allowed: none, fixed:workers=3+7,factor=1.5"),
            std::string::npos);
  EXPECT_EQ(
      error("fixed:workers=1+x"),
      "stragglers: workers: got '1+x'; allowed: numbers of workers joined by '+', such as 3+7");
  EXPECT_NE(error("fixed:workers="), "");
  EXPECT_NE(error("fixed:workers=1+"), "");
  EXPECT_NE(error("fixed:factor=0.5"), "");
  EXPECT_NE(error("fixed:workers=1,count=1"), "");
  EXPECT_NE(error("lognormal:sigma=-1"), "");
  EXPECT_NE(error("lognormal:scale=1").find("unknown key of lognormal: got 'scale'"),
            std::string::npos);
  EXPECT_NE(error("pareto:shape=0.5"), "");
  EXPECT_NE(error("slow:probability=2"), "");
  EXPECT_NE(error("lognormal:lasting=0").find("lasting: got '0'"), std::string::npos);
  EXPECT_NE(error("fixed:lasting=5").find("unknown key of fixed"), std::string::npos);
  EXPECT_EQ(MessageOf([] { MakeStragglers("fixed:workers=4")->Factors(4, 1, 1); }),
            "stragglers: got 'fixed:workers=4'; allowed: workers below 4");
  EXPECT_NE(MessageOf([] { MakeStragglers("fixed:count=5")->Factors(4, 1, 1); }), "");
}

}  // namespace
}  // namespace legacy::fabric::straggler_test