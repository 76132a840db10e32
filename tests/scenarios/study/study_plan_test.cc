// Plans of studies: as few trainings as possible, and none shared by points that differ in it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "base/files/whole_file.h"
#include "scenarios/options/scenario_yaml.h"
#include "scenarios/replay/replay.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/recording.h"
#include "scenarios/run/workers/comparison.h"
#include "scenarios/study/plan.h"
#include "tests/message_of.h"
#include "trainer/clock/record.h"

namespace legacy::study_plan_test {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t never = 0;

StudyPlan Plan(const std::string& text) { return PlanStudy(ParseStudy(text, "s.yaml")); }

std::vector<std::string> Ids(const StudyPlan& plan) {
  std::vector<std::string> ids;
  for (const PlannedTraining& training : plan.trainings) ids.push_back(training.id);
  std::ranges::sort(ids);
  return ids;
}

// Returns the number of trainings of a policy, over all seeds.
int64_t Count(const StudyPlan& plan, const std::string& policy) {
  return std::ranges::count_if(plan.trainings, [&](const PlannedTraining& training) {
    return training.scenario.policies.front() == policy;
  });
}

TEST(StudyPlan, OneTrainingForAllNetworks) {
  const StudyPlan plan = Plan(
      "grid:\n"
      "  policies: [dense, topk]\n"
      "  seeds: 3\n"
      "  bandwidth: {from: 10Mbps, to: 400Gbps, points: 14}\n"
      "  topo: [star, fat-tree]\n"
      "  stragglers: [none, \"lognormal:sigma=0.3\"]\n"
      "  target: [80%, 90%]\n"
      "  device-profile: [a100-datasheet, cpu-reference]\n"
      "  allgather: [ring-allgather, direct-allgather]\n");
  EXPECT_EQ(plan.points.size(), 2u * 3 * 14 * 2 * 2 * 2 * 2 * 2);
  EXPECT_EQ(plan.trainings.size(), 2u * 3);
  size_t points = 0;
  for (size_t t = 0; t < plan.trainings.size(); ++t) {
    const PlannedTraining& training = plan.trainings[t];
    EXPECT_EQ(training.refused, "");
    EXPECT_TRUE(training.scenario.record);
    EXPECT_EQ(training.scenario.topology, "star");
    EXPECT_EQ(training.scenario.fidelity.text(), "analytic");
    EXPECT_EQ(training.scenario.stragglers, "none");
    for (const size_t p : training.points) {
      EXPECT_EQ(plan.points[p].training, t);
      EXPECT_EQ(plan.points[p].scenario.seed, training.scenario.seed);
      EXPECT_EQ(plan.points[p].scenario.policies, training.scenario.policies);
      // A replay finds its training by this hash.
      EXPECT_EQ(TrainingHash(TrainingDocument(plan.points[p].scenario)), training.id);
    }
    points += training.points.size();
  }
  EXPECT_EQ(points, plan.points.size());
  const Scenario& last = plan.points.back().scenario;
  EXPECT_EQ(last.bandwidth.text(), "400Gbps");
  EXPECT_EQ(last.topology, "fat-tree");
  EXPECT_EQ(last.stragglers, "lognormal:sigma=0.3");
  EXPECT_EQ(last.device_profile, "cpu-reference");
  EXPECT_EQ(last.allgather.text(), "direct-allgather");
  EXPECT_EQ(last.target.text(), "90%");
  EXPECT_EQ(plan.target, (Target{"accuracy", 0.8}));
  const analysis::StudyAxis& target = plan.definition.axes.at(3).axis;
  EXPECT_EQ(target.name, "target");
  EXPECT_EQ(target.numbers, (std::vector<double>{0.8, 0.9}));
  EXPECT_EQ(target.unit, "fraction");
  EXPECT_FALSE(last.record);
}

TEST(StudyPlan, TrainingsAreSharedWhereNothingIsReadThatDiffers) {
  const StudyPlan plan = Plan(
      "scenario:\n"
      "  methods:\n"
      "    fixed: {scheme: topk, parameter: 2%}\n"
      "grid:\n"
      "  policies: [dense, fp16, topk, randomk, legacy-phase, legacy-both, fixed]\n"
      "  density: [0.1%, 1%, 10%]\n"
      "  index: [auto, u32]\n"
      "  splits: [100, 200]\n"
      "  rescale-residuals: [on, off]\n"
      "  threads-and-network: {cases: {a: {delay: 1us}, b: {delay: 2us}}}\n");
  EXPECT_EQ(Count(plan, "dense"), 1);
  EXPECT_EQ(Count(plan, "fp16"), 1);
  EXPECT_EQ(Count(plan, "topk"), 3 * 2 * 2);
  EXPECT_EQ(Count(plan, "randomk"), 3 * 2);
  EXPECT_EQ(Count(plan, "legacy-phase"), 3 * 2 * 2);
  EXPECT_EQ(Count(plan, "legacy-both"), 3 * 2 * 2 * 2);
  EXPECT_EQ(Count(plan, "fixed"), 2 * 2);
  EXPECT_EQ(plan.points.size(), 7u * 3 * 2 * 2 * 2 * 2);
}

TEST(StudyPlan, TrainingsThatAreNotReplayedStayOnTheirNetworks) {
  const StudyPlan plan = Plan(
      "scenario: {network: {sync: \"backup:k=2\", fidelity: flow}}\n"
      "grid: {policies: [dense, topk], bandwidth: [1Gbps, 2Gbps, 3Gbps], density: [1%, 2%]}\n");
  EXPECT_EQ(Count(plan, "dense"), 3);
  EXPECT_EQ(Count(plan, "topk"), 6);
  const std::vector<std::string> ids = Ids(plan);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 9u);
  for (const PlannedTraining& training : plan.trainings) {
    EXPECT_NE(training.refused.find("network.sync backup:k=2"), std::string::npos);
    EXPECT_EQ(training.scenario.fidelity.text(), "flow");
    const Scenario& point = plan.points[training.points.front()].scenario;
    EXPECT_EQ(training.scenario.bandwidth, point.bandwidth);
    EXPECT_EQ(training.scenario.stragglers, point.stragglers);
  }
  const StudyPlan mixed =
      Plan("grid: {policies: [topk], sync: [barrier, \"backup:k=1\"], delay: [1us, 2us]}\n");
  EXPECT_EQ(mixed.trainings.size(), 1u + 2);
}

// A recording is made on a network of its own, which still has the server that answers.
TEST(StudyPlan, TrainingsKeepTheServerThatTheirMethodNeeds) {
  const StudyPlan plan = Plan(
      "scenario:\n"
      "  network: {aggregation: parameter-server, fidelity: flow}\n"
      "  methods: {served: {scheme: \"thc:sums=server\"}}\n"
      "grid: {policies: [served, topk:where=server, topk], bandwidth: [1Gbps, 2Gbps]}\n");
  ASSERT_EQ(plan.trainings.size(), 3u);
  EXPECT_EQ(plan.trainings[0].scenario.aggregation.text(), "parameter-server");
  EXPECT_EQ(plan.trainings[1].scenario.aggregation.text(), "parameter-server");
  EXPECT_EQ(plan.trainings[2].scenario.aggregation.text(), "collective");
}

// What several servers compress depends on how many there are; other methods share one recording.
TEST(StudyPlan, ServersThatShareTheirCompressionHaveTrainingsOfTheirOwn) {
  const StudyPlan plan = Plan(
      "scenario:\n"
      "  network: {aggregation: sharded-parameter-server, fidelity: flow}\n"
      "grid: {policies: [topk:where=server, topk], servers: [1, 2, 4], bandwidth: [1Gbps, "
      "2Gbps]}\n");
  ASSERT_EQ(plan.trainings.size(), 3u + 1);
  for (const PlannedTraining& training : plan.trainings) {
    if (training.scenario.policies.front() == "topk") continue;
    EXPECT_EQ(training.points.size(), 2u);
    EXPECT_EQ(training.scenario.aggregation.text(), "sharded-parameter-server");
    EXPECT_EQ(training.scenario.servers, plan.points[training.points.front()].scenario.servers);
  }
}

TEST(StudyPlan, IdsStayWhenOtherPointsComeAndGo) {
  const std::vector<std::string> ids =
      Ids(Plan("grid: {policies: [dense, topk], bandwidth: [1Gbps], density: [1%, 2%]}\n"));
  EXPECT_EQ(ids,
            Ids(Plan("scenario: {run: {threads: 3}, training: {target: 50%, data_root: x}}\n"
                     "grid: {density: [2%, 0.01], policies: [topk, dense], delay: [1ms, 2ms]}\n"
                     "exclude: [{delay: 1ms}]\n")));
  EXPECT_NE(ids, Ids(Plan("grid: {policies: [dense, topk], seeds: 1, density: [1%, 3%]}\n")));
  for (const std::string& id : ids) EXPECT_EQ(id.size(), 16u);
}

// Records that were made before an option existed stay those of the training. A new option of
// trainings that moves these ids lacks kOmittedAtDefault.
TEST(StudyPlan, IdsStayWhenTrainingsGetNewOptions) {
  const StudyPlan plan = PlanStudy(LoadStudy(LEGACY_ROOT "/scenarios/claims/g1.yaml"));
  std::map<std::string, std::string> ids;
  for (const PlannedTraining& training : plan.trainings) {
    ids[training.scenario.policies.front()] = training.id;
  }
  EXPECT_EQ(ids.at("topk"), "643baf06dd37b630");
  EXPECT_EQ(ids.at("lgreco"), "02b638d6da7f663c");
}

TEST(StudyPlan, TheExampleOfTheHandbookIsAsItSays) {
  const std::string handbook = ReadWholeFile(LEGACY_ROOT "/docs/studies.md");
  const std::string fence = "```yaml\n";
  const size_t begin = handbook.find(fence) + fence.size();
  const StudyPlan plan = Plan(handbook.substr(begin, handbook.find("```", begin) - begin));
  const std::string points = std::to_string(plan.points.size());
  const std::string trainings = std::to_string(plan.trainings.size());
  EXPECT_NE(handbook.find("for " + points + " points"), std::string::npos) << points;
  EXPECT_NE(handbook.find("= " + trainings + "\ntrainings"), std::string::npos) << trainings;
}

// Formats counts as the handbook does: 1,080.
std::string WithComma(size_t count) {
  std::string text = std::to_string(count);
  if (text.size() > 3) text.insert(text.size() - 3, ",");
  return text;
}

TEST(StudyPlan, ShippedStudiesAreThoseOfTheHandbook) {
  const std::string handbook = ReadWholeFile(LEGACY_ROOT "/docs/studies.md");
  int studies = 0;
  for (const auto& entry : fs::directory_iterator(LEGACY_ROOT "/scenarios/studies")) {
    if (entry.path().extension() != ".yaml") continue;
    const StudyPlan plan = PlanStudy(LoadStudy(entry.path().string()));
    const size_t row = handbook.find("| `" + entry.path().filename().string() + "`");
    ASSERT_NE(row, std::string::npos) << entry.path();
    const std::string counts =
        "| " + WithComma(plan.points.size()) + " | " + WithComma(plan.trainings.size()) + " |";
    EXPECT_EQ(handbook.substr(handbook.find('\n', row) - counts.size(), counts.size()), counts);
    ++studies;
  }
  EXPECT_GT(studies, 0);
}

TEST(StudyPlan, InvalidPointsAreNamed) {
  try {
    Plan(
        "grid: {policies: [topk], aggregation: [collective, parameter-server],\n"
        "       allgather: [ring-allgather, direct-allgather]}\n");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("topk, seed 1, aggregation parameter-server, allgather "
                        "direct-allgather): network.aggregation: got"),
              std::string::npos)
        << error.what();
  }
}

TEST(StudyPlan, StudyBeforeAnyWork) {
  const StudyPlan plan = Plan(
      "study: {name: speed, title: How fast}\n"
      "scenario: {training: {target: 70%}}\n"
      "grid: {policies: [topk, dense], seeds: 2, bandwidth: [1Gbps, 2Gbps]}\n");
  const analysis::Study study = EmptyStudy(plan);
  EXPECT_EQ(study.name, "speed");
  EXPECT_EQ(study.title, "How fast");
  EXPECT_EQ(study.baseline, "dense");
  EXPECT_EQ(study.target, (Target{"accuracy", 0.7}));
  EXPECT_EQ(study.metrics.front().name, "accuracy");
  EXPECT_EQ(study.policies, (std::vector<std::string>{"topk", "dense"}));
  EXPECT_EQ(study.seeds, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(study.axes.at(0).name, "bandwidth");
  ASSERT_EQ(study.points.size(), 8u);
  ASSERT_EQ(study.trainings.size(), 4u);
  for (const analysis::StudyPoint& point : study.points) {
    EXPECT_EQ(point.id, &point - study.points.data());
    EXPECT_EQ(point.state, analysis::StudyState::kPending);
    const auto training =
        std::ranges::find(study.trainings, point.training, &analysis::StudyTraining::id);
    ASSERT_NE(training, study.trainings.end());
    EXPECT_EQ(training->policy, point.policy);
    EXPECT_EQ(training->seed, point.seed);
  }
  EXPECT_EQ(study.points.back().values, std::vector<std::string>{"2Gbps"});
}

TEST(StudyPlan, TargetsAreOfTheTasksMetricsAndOfOne) {
  const auto error = [](const std::string& target) {
    return MessageOf([&] {
      Plan("scenario: {training: {target: 70%}}\ngrid: {policies: [topk, dense], target: " +
           target + "}\n");
    });
  };
  EXPECT_EQ(error("[80%, 90%]"), "no error");
  EXPECT_EQ(error("[accuracy=80%, 0.9]"), "no error");
  EXPECT_NE(error("[80%, top5=90%]")
                .find("targets of one metric: the points before have one of "
                      "accuracy"),
            std::string::npos)
      << error("[80%, top5=90%]");
  EXPECT_NE(error("[perplexity=120]")
                .find("training.target: got 'perplexity'; allowed: a metric of "
                      "the task: accuracy, top5"),
            std::string::npos);
  EXPECT_NE(error("[120]").find("for accuracy, a percentage"), std::string::npos);
}

TEST(StudyPlan, AStudyHasTheMetricsOfItsTask) {
  const std::string words = "scenario: {training: {dataset: grammar, model: lstm";
  const StudyPlan plan = Plan(
      words +
      ", target: {perplexity: 42}}}\ngrid: {policies: [topk, dense], bandwidth: [1Gbps, 2Gbps]}\n");
  ASSERT_EQ(plan.metrics.size(), 1u);
  EXPECT_EQ(plan.metrics[0].better, Metric::Better::kLower);
  EXPECT_EQ(plan.target, (Target{"perplexity", 42}));
  EXPECT_EQ(EmptyStudy(plan).metrics, plan.metrics);
  // The default target is that of the data set.
  EXPECT_EQ(Plan(words + "}}\ngrid: {policies: [topk, dense], bandwidth: [1Gbps, 2Gbps]}\n").target,
            (Target{"perplexity", 100}));
  EXPECT_NE(MessageOf([&] {
              Plan(
                  "grid:\n  policies: [topk, dense]\n  data:\n    cases:\n"
                  "      images: {dataset: glyphs, model: small-cnn}\n"
                  "      words: {dataset: grammar, model: lstm}\n");
            })
                .find("training.dataset: got 'grammar'; allowed: data sets of one task: the points "
                      "before have the metric accuracy"),
            std::string::npos);
}

// Trains many policies for a few steps, and keeps the runs for the whole suite.
class StudyTrainingTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fs::path(::testing::TempDir()) / ("legacy-study-plan-" + std::to_string(getpid()));
    fs::remove_all(folder_);
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  // Returns a scenario of every built-in policy, and of methods that set what they would otherwise
  // read from the scenario.
  static Scenario Small() {
    Scenario scenario;
    for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
             {"training.model", "small-cnn"},
             {"training.workers", "2"},
             {"training.batch", "4"},
             {"training.steps", "3"},
             {"training.evaluate_every", "3"},
             {"training.warmup_steps", "3"},  // the rate changes, and residuals with it
             {"training.train_limit", "100"},
             {"training.test_limit", "40"},
             {"network.topology", "star"},
             {"network.stragglers", "none"},
             {"network.fidelity", "analytic"},
             {"network.further", "none"},
             {"run.seeds", "1"},
             {"run.pictures", "off"},
             {"run.record", "on"}}) {
      SetOption(scenario, key, value);
    }
    scenario.policies = BuiltInMethods();
    const auto add = [&](Method method) {
      scenario.policies.push_back(method.name);
      scenario.methods[method.name] = method;
    };
    add({"fixed", "topk", "layer", "uniform", 0.02, "", false});
    add({"given", "topk", "layer", "legacy-both", 0, "10%,0.5%/1%,0.05%", false});
    add({"given-phase", "randomk", "bucket", "legacy-phase", 0, "2%/1%", false});
    return scenario;
  }

  static Scenario With(Scenario scenario, const std::string& key, const std::string& value) {
    SetOption(scenario, key, value);
    return scenario;
  }

  static Scenario Of(Scenario scenario, const std::string& policy) {
    scenario.policies = {policy};
    return scenario;
  }

  // Returns the training of each policy as text: its work on the network and its evaluations, step
  // by step.
  static std::map<std::string, std::string> Train(Scenario scenario, const std::string& name) {
    scenario.out = (folder_ / name).string();
    RunComparison(scenario, "legacy-scenario", "test", never);
    const Record record = ReadRecord(scenario.out + "/traffic.jsonl");
    std::map<std::string, std::string> texts;
    for (const RecordedTraining& training : record.trainings) {
      for (const size_t work : training.works) {
        texts[training.policy] += ToJson(record.works[work]).dump() + "\n";
      }
    }
    for (const auto& row : analysis::ReadRunDirectory(scenario.out).evaluations) {
      texts[row.policy] += nlohmann::json({row.step, row.test_loss, row.metrics}).dump() + "\n";
    }
    return texts;
  }

  static fs::path folder_;
};

fs::path StudyTrainingTest::folder_;

// For every policy and every option of compression, trainings with the same document are the same
// to the bit, and an option that the document keeps changes the training of some policy.
TEST_F(StudyTrainingTest, TrainingsWithEqualDocumentsAreEqual) {
  const Scenario equal = With(Small(), "compression.volume", "elements");
  for (const char* volume : {"elements", "off"}) {
    Scenario base = With(equal, "compression.volume", volume);
    if (volume == std::string("off")) {  // the other policies train as before
      std::erase_if(base.policies, [&](const std::string& policy) {
        return policy != "dense" && policy != "fp16" &&
               TrainingDocument(TrainingOf(Of(base, policy))) ==
                   TrainingDocument(TrainingOf(Of(equal, policy)));
      });
    }
    const auto trained = Train(base, volume);
    ASSERT_EQ(trained.size(), base.policies.size());
    for (const auto& [key, value] :
         std::vector<std::pair<std::string, std::string>>{{"compression.density", "5%"},
                                                          {"compression.levels", "4%,2%/3%,1%"},
                                                          {"compression.splits", "200"},
                                                          {"compression.volume", "bytes"},
                                                          {"compression.error_feedback", "off"},
                                                          {"compression.rescale_residuals", "off"},
                                                          {"compression.index", "u32"}}) {
      const Scenario all = With(base, key, value);
      const auto shared = [&](const std::string& policy) {
        return TrainingDocument(TrainingOf(Of(base, policy))) ==
               TrainingDocument(TrainingOf(Of(all, policy)));
      };
      Scenario other = all;
      int kept_apart = 0;  // of which three are enough to see a difference
      std::erase_if(other.policies,
                    [&](const std::string& policy) { return !shared(policy) && ++kept_apart > 3; });
      const auto changed = Train(other, std::string(volume) + "-" + key);
      size_t same = 0, different = 0;
      for (const std::string& policy : other.policies) {
        if (shared(policy)) {
          EXPECT_EQ(trained.at(policy), changed.at(policy)) << key << " of " << policy;
          ++same;
        } else {
          different += trained.at(policy) != changed.at(policy);
        }
      }
      EXPECT_GE(same, 2u) << key << ": dense and fp16 at least never read it";
      EXPECT_GE(different, 1u) << key << ": kept apart, and nothing differs";
    }
  }
}

// A training of the plan, replayed as its point, equals training the point in full.
TEST_F(StudyTrainingTest, PointsAreReplaysOfTheirTrainings) {
  const StudyPlan plan = Plan(
      "scenario:\n"
      "  training: {workers: 4, batch: 4, steps: 3, evaluate_every: 1, train_limit: 100, "
      "test_limit: 40}\n"
      "  network: {fidelity: flow}\n"
      "  run: {threads: 1}\n"
      "grid: {policies: [dense], density: [1%, 5%], bandwidth: [100Mbps], topo: "
      "[\"leaf-spine:leaves=2,hosts=2\"]}\n");
  ASSERT_EQ(plan.trainings.size(), 1u);
  Scenario training = plan.trainings[0].scenario;
  training.threads = 2;
  training.out = (folder_ / "planned").string();
  RunComparison(training, "legacy-study", "test", never);
  Scenario direct = ScenarioOf(plan.definition, plan.definition.points[1]);
  direct.out = (folder_ / "direct").string();
  RunComparison(direct, "legacy-scenario", "test", never);
  const analysis::RunDirectory replayed =
      ReplayRows(ReadRecording(training.out), plan.points[1].scenario, never);
  const analysis::RunDirectory run = analysis::ReadRunDirectory(direct.out);
  ASSERT_EQ(replayed.steps.size(), 3u);
  for (size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(replayed.steps[s].step_seconds, run.steps[s].step_seconds);
    EXPECT_EQ(replayed.steps[s].training_loss, run.steps[s].training_loss);
    EXPECT_EQ(replayed.steps[s].nic_bytes, run.steps[s].nic_bytes);
    EXPECT_EQ(replayed.evaluations[s].metrics, run.evaluations[s].metrics);
  }
}

}  // namespace
}  // namespace legacy::study_plan_test