// legacy-trace as users call it: a recorded step goes out, and comes in with the time that it took.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/programs.h"

namespace legacy::trace_program_test {
namespace {

namespace fs = std::filesystem;

const std::string kNetwork = " --topo=star --bandwidth=10Gbps";

// A recorded run of a shape, and the folder that has it.
class TraceProgram : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("trace-program-") +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string In(const std::string& name) const { return (folder_ / name).string(); }
  void Record(const std::string& options) const {
    const Result result =
        Shell(std::string(LEGACY_SCENARIO_PROGRAM) + " --layers=resnet50 --workers=4 --steps=3" +
              " --fidelity=flow --record --networks=none --pictures=off --out=" + In("run") +
              kNetwork + options + " 2>&1");
    ASSERT_EQ(result.status, 0) << result.text;
  }
  static Result Trace(const std::string& arguments) {
    return Shell(std::string(LEGACY_TRACE_PROGRAM) + " " + arguments + " 2>&1");
  }

  fs::path folder_;
};

// Returns the seconds of a step of a run.
double StepSeconds(const std::string& run, const std::string& step) {
  const auto rows = CsvOf(fs::path(run) / "steps.csv");
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i][ColumnOf(rows, "step")] == step) {
      return std::stod(rows[i][ColumnOf(rows, "step_seconds")]);
    }
  }
  return -1;
}

double SlowestRank(const std::string& csv) {
  const auto rows = CsvOf(csv);
  double slowest = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    slowest = std::max(slowest, std::stod(rows[i][ColumnOf(rows, "finish_seconds")]));
  }
  return slowest;
}

TEST_F(TraceProgram, RecordedStepsComeInWithTheirTime) {
  Record(" --policies=topk --density=1%");
  const Result out = Trace("export " + In("run") + " --step=2 --out=" + In("et"));
  ASSERT_EQ(out.status, 0) << out.text;
  EXPECT_TRUE(fs::exists(In("et/step.3.et")));
  const Result in = Trace("import " + In("et") + kNetwork + " --csv=" + In("ranks.csv"));
  ASSERT_EQ(in.status, 0) << in.text;
  EXPECT_NE(in.text.find("4 ranks in 1 role"), std::string::npos) << in.text;
  EXPECT_EQ(SlowestRank(In("ranks.csv")), StepSeconds(In("run"), "2"));
}

TEST_F(TraceProgram, ShardedStepsToo) {
  Record(" --policies=dense --sharding=fsdp");
  ASSERT_EQ(Trace("export " + In("run") + " --out=" + In("et")).status, 0);
  ASSERT_EQ(Trace("import " + In("et") + kNetwork + " --csv=" + In("ranks.csv")).status, 0);
  EXPECT_EQ(SlowestRank(In("ranks.csv")), StepSeconds(In("run"), "0"));
  const Result goal = Trace("export " + In("run") + " --format=goal --out=" + In("step.goal"));
  ASSERT_EQ(goal.status, 0) << goal.text;
  ASSERT_EQ(Trace("import " + In("step.goal") + kNetwork + " --csv=" + In("goal.csv")).status, 0);
  EXPECT_NEAR(SlowestRank(In("goal.csv")) / StepSeconds(In("run"), "0"), 1, 0.01);
}

TEST_F(TraceProgram, RefusesWithoutWriting) {
  const Result no_run = Trace("export " + In("none") + " --out=" + In("et"));
  EXPECT_EQ(no_run.status, 2) << no_run.text;
  EXPECT_FALSE(fs::exists(In("et")));
  EXPECT_EQ(Trace("import " + In("none")).status, 1);
  EXPECT_EQ(Trace("import " + In("none") + " --comm-size=both").status, 2);
  EXPECT_EQ(Trace("").status, 2);
}

}  // namespace
}  // namespace legacy::trace_program_test
