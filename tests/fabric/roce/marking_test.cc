// ECN profiles, probabilities and draws.
#include "ns3-module/fabric/roce/marking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric {
namespace {

EcnThresholds At(const std::string& text, double rate) {
  return EcnProfile::FromText(text, "ecn")->Of(rate);
}

TEST(Marking, ProbabilityIsLinearBetweenThresholds) {
  const EcnThresholds ecn{100e3, 400e3, 0.2};
  EXPECT_EQ(ecn.Probability(0), 0);
  EXPECT_EQ(ecn.Probability(100'000), 0);
  EXPECT_DOUBLE_EQ(ecn.Probability(250'000), 0.1);
  EXPECT_DOUBLE_EQ(ecn.Probability(400'000), 0.2);
  EXPECT_EQ(ecn.Probability(400'001), 1);
  const EcnThresholds step{65e3, 65e3, 1};  // DCTCP's
  EXPECT_EQ(step.Probability(65'000), 0);
  EXPECT_EQ(step.Probability(65'001), 1);
}

TEST(Marking, ThresholdsScaleWithThePortsRate) {
  const EcnThresholds ecn = At(EcnProfile::kDefault, 100e9);
  EXPECT_EQ(ecn.leastBytes, 400e3);
  EXPECT_EQ(ecn.mostBytes, 1600e3);
  EXPECT_EQ(ecn.share, 0.2);
  EXPECT_EQ(At(EcnProfile::kDefault, 10e9).leastBytes, 40e3);
  EXPECT_EQ(At("5KB/200KB/0.01", 400e9).mostBytes, 200e3);
}

// Rates of the public list whose 200 Gbit/s mark earlier than its 100.
TEST(Marking, ListsNameRates) {
  const std::string list = "300KB/1200KB/0.8@200Gbps+400KB/1600KB/0.2@100Gbps";
  EXPECT_EQ(At(list, 100e9).leastBytes, 400e3);
  EXPECT_EQ(At(list, 200e9).leastBytes, 300e3);
  EXPECT_EQ(At(list, 400e9).leastBytes, 600e3);
  EXPECT_EQ(At(list, 400e9).share, 0.8);
  EXPECT_EQ(At(list, 25e9).leastBytes, 100e3);
}

TEST(Marking, DrawsAreUniformAndOfTheirKey) {
  constexpr int kDraws = 100'000;
  double sum = 0;
  int below = 0;
  for (int n = 0; n < kDraws; ++n) {
    const double draw = MarkingDraw(1, 7, n);
    ASSERT_GE(draw, 0);
    ASSERT_LT(draw, 1);
    sum += draw;
    below += draw < 0.01;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
  EXPECT_NEAR(below, 0.01 * kDraws, 4 * std::sqrt(0.01 * kDraws));
  EXPECT_EQ(MarkingDraw(1, 7, 3), MarkingDraw(1, 7, 3));
  EXPECT_NE(MarkingDraw(1, 7, 3), MarkingDraw(1, 8, 3));
  EXPECT_NE(MarkingDraw(1, 7, 3), MarkingDraw(2, 7, 3));
}

TEST(Marking, RefusesBadProfiles) {
  const auto message = [](const std::string& text) {
    return MessageOf([&] { EcnProfile::FromText(text, "ecn"); });
  };
  EXPECT_FALSE(EcnProfile::FromText("off", "ecn").has_value());
  EXPECT_EQ(message("400KB/100KB/0.2"), "ecn: kmin: got '400KB'; allowed: at most kmax, 100KB");
  for (const char* share : {"0", "1.5", "-1", "nan", "x", ""}) {
    EXPECT_EQ(message("1KB/2KB/" + std::string(share)),
              "ecn: pmax: got '" + std::string(share) + "'; allowed: a number above 0, at most 1");
  }
  EXPECT_NE(message("1KB/2KB").find("kmin/kmax/pmax@rate"), std::string::npos);
  EXPECT_NE(message("").find("kmin/kmax/pmax@rate"), std::string::npos);
  EXPECT_NE(message("1KB/2KB/1+1KB/2KB/1@1Gbps").find("a rate for each"), std::string::npos);
  EXPECT_NE(message("1KB/2KB/1@1Gbps+1KB/2KB/1@1Gbps").find("each rate once"), std::string::npos);
}

}  // namespace
}  // namespace legacy::fabric
