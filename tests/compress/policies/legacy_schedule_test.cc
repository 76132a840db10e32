#include "compress/policies/legacy_schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "compress/density.h"
#include "tests/compress/test_data.h"

namespace legacy::legacy_schedule_test {
namespace {

LegacySchedule Table(std::vector<int64_t> splits, std::vector<int64_t> bounds,
                     std::vector<std::vector<double>> parameters, bool closed_right = false) {
  return {std::move(splits), std::move(bounds), std::move(parameters), closed_right};
}

TEST(LegacySchedule, BucketsAreStrictlyBelowTheirSplit) {
  const auto table = Table({100, 500, 10000}, {}, {{0.6, 0.3, 0.1, 0.001}});
  const std::vector<std::pair<int64_t, double>> cases = {
      {1, 0.6},   {99, 0.6},   {100, 0.3},     {499, 0.3},
      {500, 0.1}, {9999, 0.1}, {10000, 0.001}, {5000000, 0.001}};
  for (const auto& [numel, value] : cases) EXPECT_EQ(table.Parameter(0, 1, numel), value) << numel;
}

TEST(LegacySchedule, EqualPhasesFollowTheFloorRule) {
  for (const int64_t phases : {1, 2, 3, 7}) {
    const auto table = Table({}, {}, std::vector<std::vector<double>>(phases, {0.1}));
    for (const int64_t total : {1, 2, 5, 7, 30, 100}) {
      for (int64_t step = 0; step < total + 3; ++step) {
        EXPECT_EQ(table.Phase(step, total), std::min(phases - 1, step * phases / total));
      }
    }
  }
}

TEST(LegacySchedule, ClosedRightGivesTheBoundaryToTheEarlierPhase) {
  const auto open = Table({}, {}, {{3}, {2}, {1}});
  const auto closed = Table({}, {}, {{3}, {2}, {1}}, true);
  EXPECT_EQ(open.Parameter(10, 30, 1), 2);
  EXPECT_EQ(closed.Parameter(10, 30, 1), 3);
  EXPECT_EQ(closed.Parameter(11, 30, 1), 2);
  EXPECT_EQ(closed.Parameter(20, 30, 1), 2);
  EXPECT_EQ(closed.Parameter(0, 30, 1), 3);
  // The phase is the first i with t <= (i + 1) T / p, or the last one.
  for (int64_t step = 0; step < 40; ++step) {
    const int64_t slow = step * 3 <= 31 ? 0 : step * 3 <= 62 ? 1 : 2;
    EXPECT_EQ(closed.Phase(step, 31), slow) << step;
  }
}

TEST(LegacySchedule, ExplicitBounds) {
  const auto open = Table({}, {5, 20}, {{3}, {2}, {1}});
  const auto closed = Table({}, {5, 20}, {{3}, {2}, {1}}, true);
  const std::vector<std::tuple<int64_t, double, double>> cases = {
      {0, 3, 3}, {4, 3, 3}, {5, 2, 3}, {6, 2, 2}, {19, 2, 2}, {20, 1, 2}, {21, 1, 1}, {99, 1, 1}};
  for (const auto& [step, left, right] : cases) {
    EXPECT_EQ(open.Parameter(step, 100, 7), left) << step;
    EXPECT_EQ(closed.Parameter(step, 100, 7), right) << step;
  }
}

TEST(LegacySchedule, RefusesRaggedShortAndUnsortedTables) {
  EXPECT_NO_THROW(Table({10}, {5}, {{2, 1}, {2, 1}}).Validate());
  EXPECT_THROW(Table({}, {}, {}).Validate(), Error);
  EXPECT_THROW(Table({10}, {}, {{2, 1}, {2}}).Validate(), Error);
  EXPECT_THROW(Table({10, 20}, {}, {{2, 1}}).Validate(), Error);
  EXPECT_THROW(Table({20, 10}, {}, {{3, 2, 1}}).Validate(), Error);
  EXPECT_THROW(Table({10, 10}, {}, {{3, 2, 1}}).Validate(), Error);
  EXPECT_THROW(Table({0}, {}, {{2, 1}}).Validate(), Error);
  EXPECT_THROW(Table({}, {5, 4}, {{3}, {2}, {1}}).Validate(), Error);
  EXPECT_THROW(Table({}, {5}, {{3}, {2}, {1}}).Validate(), Error);
  EXPECT_THROW(Table({}, {}, {{2}, {1}}).Phase(0, 0), Error);
}

TEST(ParseSchedule, PercentAndFraction) {
  using Table = std::vector<std::vector<double>>;
  EXPECT_EQ(ParseSchedule("10%,0.5%/1%,0.05%", ScheduleUnit::kFraction),
            (Table{{0.1, 0.005}, {0.01, 0.0005}}));
  EXPECT_EQ(ParseSchedule("0.01", ScheduleUnit::kFraction), (Table{{0.01}}));
  EXPECT_EQ(ParseSchedule("100%,1.0,1e-3,5e-1%", ScheduleUnit::kFraction),
            (Table{{1, 1, 0.001, 0.005}}));
  EXPECT_EQ(ParseSchedule("4,2/2,1", ScheduleUnit::kRaw), (Table{{4, 2}, {2, 1}}));
  // Rounded once: k is exact for every percentage.
  for (int percent = 1; percent <= 100; ++percent) {
    const double value =
        ParseSchedule(std::to_string(percent) + "%", ScheduleUnit::kFraction)[0][0];
    EXPECT_EQ(KeptCount(700, value), 7 * percent);
  }
}

TEST(ParseSchedule, RefusesWhatIsAmbiguousOrBroken) {
  for (const char* bad : {"", "10", "1,0.1/5", "1%,", "/1%", "1", "x%", "1%%", "-1%", "101%", "nan",
                          "1 %", "1%;2%", "inf"}) {
    EXPECT_THROW(ParseSchedule(bad, ScheduleUnit::kFraction), Error) << bad;
  }
  EXPECT_THROW(ParseSchedule("4%", ScheduleUnit::kRaw), Error);
  EXPECT_THROW(ParseSchedule("inf", ScheduleUnit::kRaw), Error);
  try {
    ParseSchedule("10,1", ScheduleUnit::kFraction);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("10%"), std::string::npos) << error.what();
  }
}

TEST(LegacyPolicy, DecidesEveryUnit) {
  const auto policy = MakeLegacyPolicy("legacy-both", Table({100}, {}, {{0.5, 0.1}, {0.05, 0.01}}),
                                       DensityParameter());
  const auto units = test::MakeUnits({10, 1000, 100});
  std::vector<double> parameters(3);
  policy->Decide({.step = 0, .total_steps = 10}, units, parameters);
  EXPECT_EQ(parameters, (std::vector<double>{0.5, 0.1, 0.1}));
  policy->Decide({.step = 5, .total_steps = 10}, units, parameters);
  EXPECT_EQ(parameters, (std::vector<double>{0.05, 0.01, 0.01}));
  EXPECT_FALSE(policy->Traits().reads_clock);
}

TEST(LegacyPolicy, EqualParametersAreUniform) {
  const auto uniform = MakeUniformPolicy(0.01);
  const auto units = test::MakeUnits({5, 100, 20000});
  std::vector<double> expected(3), got(3);
  for (const auto& [name, table] :
       {std::pair("legacy-phase", Table({}, {}, {{0.01}, {0.01}, {0.01}})),
        std::pair("legacy-layer", Table({100}, {}, {{0.01, 0.01}})),
        std::pair("uniform", Table({}, {}, {{0.01}}))}) {
    const auto policy = MakeLegacyPolicy(name, table, DensityParameter());
    for (int64_t step = 0; step < 9; ++step) {
      uniform->Decide({.step = step, .total_steps = 9}, units, expected);
      policy->Decide({.step = step, .total_steps = 9}, units, got);
      ASSERT_EQ(got, expected) << name;
    }
  }
}

TEST(LegacyPolicy, ServesIntegerParametersAndChecksRanges) {
  const ParameterSpec rank{.name = "rank", .minimum = 1, .maximum = 32, .integer = true};
  const auto policy = MakeLegacyPolicy("legacy-phase", Table({}, {}, {{3.6}, {1}}), rank);
  const auto units = test::MakeUnits({10});
  std::vector<double> parameters(1);
  policy->Decide({.step = 0, .total_steps = 2}, units, parameters);
  EXPECT_EQ(parameters[0], 4);
  EXPECT_THROW(MakeLegacyPolicy("uniform", Table({}, {}, {{33}}), rank), Error);
  EXPECT_THROW(MakeLegacyPolicy("uniform", Table({}, {}, {{-0.1}}), DensityParameter()), Error);
  EXPECT_THROW(MakeLegacyPolicy("uniform", Table({}, {}, {{2}, {1}}), rank), Error);
  EXPECT_THROW(MakeLegacyPolicy("legacy-phase", Table({10}, {}, {{2, 1}}), rank), Error);
  EXPECT_THROW(MakeLegacyPolicy("legacy", Table({}, {}, {{2}}), rank), Error);
}

TEST(SplitAtShare, SmallTensorsHoldAtMostTheShare) {
  const auto units = test::MakeUnits({6, 10, 100, 84, 800});  // 1000 elements
  EXPECT_EQ(SplitAtShare(units, 0.1), 100);  // 6 + 10 + 84 = 100, exactly the share
  EXPECT_EQ(SplitAtShare(units, 0.099), 84);
  EXPECT_EQ(SplitAtShare(units, 0), 6);
  EXPECT_EQ(SplitAtShare(units, 1), 801);
  EXPECT_EQ(SplitAtShare(test::MakeUnits({7, 7, 7}), 0.5), 7);  // equal sizes stay together
  EXPECT_EQ(SplitAtShare({}, 0.5), 1);
  EXPECT_THROW(SplitAtShare(units, 1.5), Error);
}

}  // namespace
}  // namespace legacy::legacy_schedule_test