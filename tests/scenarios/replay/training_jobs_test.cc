// Trainings beside each other on one fabric: their steps alone are those of legacy-scenario, and
// together they share links as closed forms say.
#include "scenarios/replay/training_jobs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/programs/program.h"
#include "scenarios/network/jobs/jobs_results.h"
#include "scenarios/network/jobs/jobs_run.h"
#include "scenarios/run/one_step.h"
#include "scenarios/run/workers/comparison.h"
#include "tests/message_of.h"

namespace legacy::training_jobs_test {
namespace {

namespace fs = std::filesystem;

class TrainingJobsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fs::path(::testing::TempDir()) / ("legacy-jobs-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static std::string JobsPath() { return (folder_ / "jobs.yaml").string(); }

  // Two hosts at each of two leaves, which one line of a host's rate joins.
  static ExperimentOptions Options() {
    ExperimentOptions options;
    options.fidelity = {"flow", "--fidelity"};
    options.topology = "leaf-spine:leaves=2,hosts=2,spines=1,oversubscription=2";
    options.bandwidth = "10Gbps";
    options.delay = "1us";
    options.steps = 4;
    return options;
  }

  static PreparedJobs JobsOf(const std::string& text, const ExperimentOptions& options) {
    std::ofstream(JobsPath()) << text;
    const TrainingJobs trainings;
    return PrepareJobs(ReadJobs(JobsPath(), options, {}, &trainings), options, {});
  }

  static JobsMeasurement TimesOf(const std::string& text,
                                 const ExperimentOptions& options = Options()) {
    return MeasureJobs(JobsOf(text, options)).front();
  }

  // Returns the scenario of a job whose workers are the first hosts of that fabric.
  static Scenario ScenarioOf(const ExperimentOptions& options) {
    Scenario scenario = ShapeDefaults();
    static_cast<FabricOptions&>(scenario) = options;
    scenario.layers = "resnet50";
    scenario.workers = 4;
    scenario.batch = 8;
    scenario.policies = {"dense"};
    scenario.steps = options.steps;
    return scenario;
  }

  inline static fs::path folder_;
};

constexpr const char* kFast = "layers: resnet50, batch: 8, device_speed: 1000";

TEST_F(TrainingJobsTest, TakeTwiceAsLongWhereTheyShareAllLinks) {
  const std::string a = std::string("{name: a, hosts: [0, 2], ") + kFast + "}";
  const std::string b = std::string("{name: b, hosts: [1, 3], ") + kFast + "}";
  const JobsMeasurement m = TimesOf("jobs: [" + a + ", " + b + "]");
  for (const size_t job : {0, 1}) EXPECT_NEAR(m.Slowdown(job), 2, 0.02);
  EXPECT_NEAR(m.Fairness(), 1, 1e-6);
  // The order in the file changes nothing but the order of results.
  const JobsMeasurement other = TimesOf("jobs: [" + b + ", " + a + "]");
  EXPECT_EQ(other.together[0].ends, m.together[1].ends);
  EXPECT_EQ(other.together[1].ends, m.together[0].ends);
  EXPECT_EQ(other.together[1].exposed, m.together[0].exposed);
}

TEST_F(TrainingJobsTest, DoNotMeetOnLinksOfTheirOwn) {
  const JobsMeasurement m = TimesOf(std::string("jobs: [{hosts: [0, 1], ") + kFast +
                                    "}, {hosts: [2, 3], " + kFast + "}]");
  for (const size_t job : {0, 1}) {
    EXPECT_EQ(m.alone[job].ends, m.together[job].ends);
    EXPECT_EQ(m.alone[job].exposed, m.together[job].exposed);
  }
}

// A job alone is the training of the same options, to the nanosecond.
TEST_F(TrainingJobsTest, AloneAreTheStepsOfScenarios) {
  const ExperimentOptions options = Options();
  for (const char* more :
       {"", ", policies: [topk@1%]", ", sharding: fsdp, precision: bf16", ", sharding: zero2"}) {
    const JobsMeasurement m =
        TimesOf("jobs: [{layers: resnet50, workers: 4, batch: 8" + std::string(more) + "}]");
    Scenario scenario = ScenarioOf(options);
    const std::string text = more;
    if (text.find("topk") != std::string::npos) scenario.policies = {"topk@1%"};
    if (text.find("fsdp") != std::string::npos) {
      scenario.sharding = "fsdp";
      scenario.precision = "bf16";
    }
    if (text.find("zero2") != std::string::npos) scenario.sharding = "zero2";
    const analysis::StepRow row = TimeOneStep(scenario);
    EXPECT_EQ(m.alone[0].ends.front(), RoundedTime(1e9 * row.step_seconds)) << more;
    EXPECT_EQ(m.alone[0].ends.size(), 4u);
    EXPECT_EQ(m.alone[0].Last(), m.alone[0].ends.front()) << more;
    EXPECT_EQ(m.together[0].ends, m.alone[0].ends);
    double exposed = 0;
    for (const double stream : m.alone[0].MeanExposed()) exposed += 1e-9 * stream;
    EXPECT_NEAR(exposed, row.communication_seconds, 1e-6) << more;
  }
}

// A training whose state recurs is not simulated to its end, and the times are those of one that
// is.
TEST_F(TrainingJobsTest, RecurWithoutAChangeOfTimes) {
  const std::string text =
      "jobs:\n  - {name: a, hosts: [0, 2], layers: resnet50, batch: 8}\n"
      "  - {name: b, hosts: [1, 3], layers: resnet50, batch: 8, start: 3ms}\n";
  ExperimentOptions options = Options();
  options.steps = 40;
  const JobsMeasurement m = TimesOf(text, options);
  ASSERT_TRUE(m.recurrence);
  EXPECT_GT(m.recurrence->skipped, 0);
  options.changes = "host0<>*@outage:from=3600s,for=1s";  // nothing is copied beside changes
  const JobsMeasurement whole = TimesOf(text, options);
  EXPECT_FALSE(whole.recurrence);
  for (const size_t job : {0, 1}) {
    ASSERT_EQ(m.together[job].ends.size(), 40u);
    EXPECT_EQ(m.together[job].ends, whole.together[job].ends);
    EXPECT_EQ(m.together[job].exposed, whole.together[job].exposed);
  }
}

TEST_F(TrainingJobsTest, LeaveAfterStepsOfTheirOwn) {
  const JobsMeasurement m = TimesOf(std::string("jobs:\n  - {hosts: [0, 2], steps: 2, ") + kFast +
                                    "}\n  - {hosts: [1, 3], steps: 6, " + kFast + "}\n");
  ASSERT_EQ(m.together[1].ends.size(), 6u);
  EXPECT_NEAR(m.Slowdown(0), 2, 0.02);
  EXPECT_NEAR(m.Slowdown(1), 8.0 / 6, 0.02);  // two steps of twice the time, and four alone
  EXPECT_EQ(m.together[1].Last(), m.alone[1].Last());
}

// Compressing one job helps the other where the links that they share bound both.
TEST_F(TrainingJobsTest, AreMeasuredByEachMethod) {
  const PreparedJobs prepared = JobsOf(
      "jobs:\n  - {name: a, hosts: [0, 2], layers: resnet50, policies: [dense, topk@1%]}\n"
      "  - {name: b, hosts: [1, 3], layers: resnet50}\n",
      Options());
  const std::vector<JobsMeasurement> m = MeasureJobs(prepared);
  ASSERT_EQ(m.size(), 2u);
  EXPECT_LT(m[1].together[0].Mean(), m[0].together[0].Mean());
  EXPECT_LT(m[1].together[1].Mean(), m[0].together[1].Mean());
  EXPECT_EQ(m[1].alone[1].ends, m[0].alone[1].ends);
  const std::vector<Row> rows = JobsRows(prepared, m);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[2]["method"], "topk@1%");
  EXPECT_EQ(rows[3]["method"], "dense");
  EXPECT_NE(JobsTable(prepared, m).find("a: topk@1%"), std::string::npos);
}

TEST_F(TrainingJobsTest, StartApartByOffsets) {
  ExperimentOptions options = Options();
  options.offsets = {"0..1:x4", "--offsets"};
  const std::string a = "{hosts: [0, 2], layers: resnet50}";
  const std::vector<JobsMeasurement> m =
      MeasureJobs(JobsOf("jobs: [" + a + ", {hosts: [1, 3], layers: resnet50}]", options));
  ASSERT_EQ(m.size(), 4u);
  for (size_t i = 0; i < m.size(); ++i) {
    EXPECT_EQ(m[i].offset, 0.25 * static_cast<double>(i));
    EXPECT_EQ(m[i].together[0].start, 0);
    EXPECT_EQ(m[i].together[1].start, RoundedTime(*m[i].offset * m[i].alone[0].Mean()));
  }
}

TEST_F(TrainingJobsTest, MayBeRecordedRunsBesideCollectives) {
  const ExperimentOptions options = Options();
  Scenario scenario = ScenarioOf(options);
  scenario.policies = {"dense", "topk"};
  scenario.record = true;
  scenario.pictures = false;
  scenario.out = (folder_ / "recorded").string();
  static volatile std::sig_atomic_t never = 0;
  std::FILE* const log = std::fopen("/dev/null", "w");
  RunComparison(scenario, "test", "", never, log);
  std::fclose(log);
  const std::string run = "run: '" + scenario.out + "'";
  const JobsMeasurement m =
      TimesOf("jobs:\n  - {name: r, hosts: [0, 1, 2, 3], " + run +
              ", policies: [topk]}\n  - {hosts: [0, 2], collective: broadcast, bytes: 10MB}\n");
  scenario.policies = {"topk"};
  scenario.record = false;
  EXPECT_EQ(m.alone[0].ends.front(), RoundedTime(1e9 * TimeOneStep(scenario).step_seconds));
  EXPECT_GT(m.Slowdown(0), 1);
  EXPECT_GT(m.Slowdown(1), 1);
  const auto refused = [&](const std::string& more) {
    return MessageOf([&] { JobsOf("jobs: [{" + run + more + "}]", Options()); });
  };
  EXPECT_NE(refused(", steps: 5").find("1 to 4, those of"), std::string::npos);
  EXPECT_NE(refused(", batch: 16").find("as recorded"), std::string::npos)
      << refused(", batch: 16");
  EXPECT_NE(refused(", policies: [fp16]").find("fp16"), std::string::npos);
}

TEST_F(TrainingJobsTest, MistakesAreNamed) {
  const auto refusal = [](const std::string& text) {
    const std::string message = MessageOf([&] { JobsOf(text, Options()); });
    return message.starts_with(JobsPath()) ? message.substr(JobsPath().size()) : message;
  };
  const auto expect = [&](const std::string& text, const std::string& message) {
    const std::string found = refusal(text);
    EXPECT_NE(found.find(message), std::string::npos) << text << "\n" << found;
  };
  expect("jobs: [{layers: resnet50, polices: [dense]}]",
         ":1:27: unknown key of a training 'polices'; did you mean policies?");
  expect("jobs: [{layers: resnet50, topo: star}]", ":1:27: key 'topo': all jobs share the fabric");
  expect("jobs: [{layers: resnet50, bytes: 1MB}]", "a training does not read it");
  expect("jobs: [{layers: resnet5}]", ":1:");
  expect("jobs: [{layers: resnet50, batch: many}]", ":1:27: batch: got 'many'");
  expect("jobs: [{model: small-cnn}]", ":1:9: key 'model': a job that trains a model is to be");
  expect("jobs: [{run: /no/such/folder}]", ":1:14: run directory: got '/no/such/folder'");
  expect("jobs: [{layers: resnet50, hosts: [0, 1]}, {layers: resnet50, hosts: [1, 2]}]",
         ":1:43: hosts: got 'host1'; allowed: a host on which no other training computes; job0");
  expect("jobs: [{layers: resnet50, hosts: [0, 1], workers: 3}]", "workers: got '3'; allowed: 2");
  expect("jobs: [{layers: resnet50, workers: 2, policies: [gravac]}]", "gravac");
  expect("jobs: [{layers: resnet50, workers: 2, sharding: fsdp, collectives: alone}]",
         "the collectives of jobs share links");
  expect("jobs: [{layers: resnet50, workers: 2, steps: 0}]", ":1:39: steps: got '0'");
  expect("jobs: [{bytes: 1MB, steps: 2, repeat: 2}]", "either this or repeat");
}

}  // namespace
}  // namespace legacy::training_jobs_test
