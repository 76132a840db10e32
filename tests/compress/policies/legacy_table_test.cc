#include "compress/policies/legacy_table.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/compress/model_shapes.h"
#include "tests/compress/test_data.h"

namespace legacy::legacy_table_test {
namespace {

using Table = std::vector<std::vector<double>>;

class LegacyTableTest : public ::testing::Test {
 protected:
  LegacySchedule Of(const char* policy, const LegacyTable& table) const {
    return ScheduleOfTable(policy, table, model_, 0.001);
  }

  const std::vector<Unit> units_ = test::ResNet18(10);
  const std::unique_ptr<Scheme> scheme_ = MakeScheme("topk");
  const VolumeModel model_ = {.units = units_, .scheme = scheme_.get(), .total_steps = 200};
};

// The schedule is LEGACY's as its authors' code ships it: 0.1018 % of a ResNet-18.
TEST_F(LegacyTableTest, TakesTheScheduleAsItIs) {
  const auto schedule =
      Of("legacy-layer", {.schedule = "1%,0.1%", .splits = {10000}, .volume = "off"});
  EXPECT_EQ(schedule.parameters, (Table{{0.01, 0.001}}));
  EXPECT_EQ(schedule.splits, std::vector<int64_t>{10000});
  EXPECT_NEAR(AverageVolume(model_, schedule) / 11173962, 0.001018, 5e-7);
}

TEST_F(LegacyTableTest, EachPolicyHasItsPartOfTheTable) {
  const LegacyTable table = {
      .schedule = "8%,4%/2%,1%", .splits = {10000}, .phase_bounds = "30%", .volume = "off"};
  EXPECT_EQ(Of("legacy-layer", table).parameters, (Table{{0.08, 0.04}}));
  EXPECT_TRUE(Of("legacy-layer", table).phase_bounds.empty());
  EXPECT_EQ(Of("legacy-phase", table).parameters, (Table{{0.04}, {0.01}}));
  EXPECT_TRUE(Of("legacy-phase", table).splits.empty());
  EXPECT_EQ(Of("legacy-both", table).parameters, (Table{{0.08, 0.04}, {0.02, 0.01}}));
  EXPECT_EQ(Of("legacy-both", table).phase_bounds, std::vector<int64_t>{60});
}

TEST_F(LegacyTableTest, BoundsBelongToTheLaterPhaseUnlessClosedRight) {
  LegacyTable table = {.schedule = "2%/1%", .phase_bounds = "50", .volume = "off"};
  EXPECT_EQ(Of("legacy-phase", table).Parameter(50, 200, 1), 0.01);
  table.closed_right = true;
  EXPECT_EQ(Of("legacy-phase", table).Parameter(50, 200, 1), 0.02);
  EXPECT_EQ(Of("legacy-phase", table).Parameter(51, 200, 1), 0.01);
  EXPECT_EQ(ParsePhaseBounds("10,25%,199", 200), (std::vector<int64_t>{10, 50, 199}));
  EXPECT_EQ(ParsePhaseBounds("0.25ep,10,2ep", 200, 12), (std::vector<int64_t>{3, 10, 24}));
  for (const char* bad : {"0", "0%", "101%", "1.5", "20,20", "30,10", "half", "1,,2", "2ep"}) {
    EXPECT_THROW(ParsePhaseBounds(bad, 200), Error) << bad;
  }
  for (const char* bad : {"0ep", "ep", "-1ep", "2ep,24", "1e9ep"}) {
    EXPECT_THROW(ParsePhaseBounds(bad, 200, 12), Error) << bad;
  }
  table.phase_bounds = "50,60";
  EXPECT_THROW(Of("legacy-phase", table), Error);
}

TEST_F(LegacyTableTest, ShareOfTheDefaultSplit) {
  for (const double share : {0.01, 0.1, 0.4}) {
    EXPECT_EQ(Of("legacy-layer", {.split_share = share}).splits,
              std::vector<int64_t>{SplitAtShare(units_, share)});
  }
}

TEST_F(LegacyTableTest, ControlsAreReversedAtTheSameVolume) {
  const auto layer = Of("legacy-layer", {.reversed = true});
  EXPECT_LT(layer.parameters[0][0], layer.parameters[0][1]);
  const auto phase = Of("legacy-phase", {.reversed = true});
  EXPECT_LT(phase.parameters[0][0], phase.parameters[1][0]);
  const auto both = Of("legacy-both", {.reversed = true});
  EXPECT_LT(both.parameters[0][1], both.parameters[1][1]);
  EXPECT_GT(both.parameters[0][0], both.parameters[0][1]);
  for (const LegacySchedule& schedule : {layer, phase, both}) {
    EXPECT_NEAR(AverageVolume(model_, schedule), UniformVolume(model_, 0.001), 12);
  }
}

TEST_F(LegacyTableTest, ZeroIsNoDensity) {
  try {
    Of("legacy-layer", {.schedule = "1%,0%", .splits = {10000}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("0%"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace legacy::legacy_table_test