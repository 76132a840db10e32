// Advice of the program on cases with a forced answer, and the prices that it adds up.
#include "scenarios/study/advise.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/run_directory.h"
#include "analysis/summary.h"
#include "base/error.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/plan.h"
#include "tests/arguments.h"
#include "tests/message_of.h"
#include "tests/programs.h"

namespace legacy::advise_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kTiny =
    " --model=lenet5 --workers=4 --batch=2 --steps=24 --warmup-steps=2 --evaluate-every=4"
    " --train-limit=64 --test-limit=64 --topo=star --stragglers=none";
// Replaces some of these options: dense ends with half of ten classes right, so that advice can be
// given.
constexpr const char* kLearning =
    " --model=small-cnn --batch=8 --steps=60 --quick-steps=60 --warmup-steps=10 --learning-rate=0.1"
    " --evaluate-every=10 --train-limit=1000 --test-limit=100";
constexpr const char* kQuick = " --quick-steps=12 --seeds=2 --jobs=2 --policies=topk";

class AdviseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) /
              ("legacy-advise-" + std::string(test->name()) + std::to_string(getpid()));
    fs::create_directories(folder_ / "tmp");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string In(const std::string& name) const { return (folder_ / name).string(); }
  // Temporary files go to a folder in which the test can see that none is left.
  Result Run(const std::string& arguments) const {
    return Shell("TMPDIR=" + In("tmp") + " " + LEGACY_SCENARIO_PROGRAM + " " + arguments);
  }
  Result Advise(const std::string& arguments) const {
    return Run(std::string("advise") + kTiny + kQuick + " " + arguments);
  }
  json AdviseJson(const std::string& arguments) const {
    const Result result = Advise(arguments + " --json 2>/dev/null");
    EXPECT_EQ(result.status, 0) << arguments;
    return json::parse(result.text);
  }

  fs::path folder_;
};

AdviseRequest RequestOf(Scenario scenario) {
  AdviseRequest request;
  request.scenario = std::move(scenario);
  return request;
}

TEST_F(AdviseTest, OneMegabitCompresses) {
  const Result result =
      Advise(std::string("--bandwidth=1Mbps --target=1%") + kLearning + " 2>" + In("errors"));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.text.rfind("Compress: topk reaches 1 % accuracy ", 0), 0u) << result.text;
  EXPECT_NE(result.text.find("times sooner than dense (95 % interval, 2 seeds)"),
            std::string::npos);
  EXPECT_NE(result.text.find("small-cnn on glyphs, 4 workers of 8 samples, star at 1Mbps"),
            std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("% communication"), std::string::npos);
  EXPECT_NE(result.text.find("topk pays on all links that were tried, 100 kbit/s to 10 Mbit/s."),
            std::string::npos)
      << result.text;
  const std::string command = result.text.substr(result.text.find("A full study: "));
  EXPECT_NE(command.find("legacy-scenario advise --model=lenet5"), std::string::npos) << command;
  EXPECT_NE(command.find("--print-config > study.yaml && legacy-study run study.yaml"),
            std::string::npos);
  EXPECT_NE(Read(In("errors")).find("4 trainings of 60 steps in about "), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
}

TEST_F(AdviseTest, NoVerdictWhereTrainingsHaveNotLearnt) {
  const json answer = AdviseJson("--bandwidth=1Mbps --target=1% --learning-rate=0.000001");
  EXPECT_EQ(answer["verdict"], "undecided");
  EXPECT_EQ(answer["words"].get<std::string>().rfind("Nothing can be told: dense has ", 0), 0u);
}

TEST_F(AdviseTest, FastLinksAndSlowCodecsDoNotCompress) {
  const json answer =
      AdviseJson(std::string("--bandwidth=400Gbps --codec-speed=0.01 --target=1%") + kLearning);
  EXPECT_EQ(answer["verdict"], "do-not-compress");
  EXPECT_TRUE(answer["policy"].is_null());
  EXPECT_EQ(answer["target_chosen"], false);
  EXPECT_EQ(answer["policies"][1]["policy"], "topk");
  EXPECT_LT(answer["policies"][1]["speedup"]["interval"][1], 1);
  EXPECT_TRUE(answer["policies"][1]["egress_usd"].is_null());
  const json& even = answer["break_even"].at(0);
  EXPECT_EQ(even["seeds"]["behind"], 2) << even;
}

TEST_F(AdviseTest, TheTargetIsChosenFromTheShortTraining) {
  const json answer = AdviseJson("--bandwidth=1Mbps --out=" + In("study"));
  EXPECT_EQ(answer["target_chosen"], true);
  EXPECT_EQ(answer["metric"]["name"], "accuracy");
  const double target = answer["target"]["value"];
  const StudyFolder folder = StudyFolder::Open(In("study"));
  double least = 1;
  for (const PlannedTraining& training : folder.plan().trainings) {
    EXPECT_EQ(training.scenario.steps, 12);
    EXPECT_EQ(training.scenario.warmup_steps, 1);
    if (training.scenario.policies.front() != "dense") continue;
    const auto rows =
        analysis::ReadRunDirectory(folder_ / "study" / "trainings" / training.id).evaluations;
    ASSERT_EQ(rows.size(), 6u);
    least = std::min(least, (rows[3].metrics[0] + rows[4].metrics[0] + rows[5].metrics[0]) / 3);
  }
  EXPECT_LE(target, 0.9 * least);
  EXPECT_GT(target, 0.9 * least - 0.001 - 1e-12);
  // The study that is kept has the target too, in full precision.
  const analysis::Study study = ReadStudy(In("study"));
  EXPECT_EQ(study.target, (Target{"accuracy", target}));
  for (const analysis::StudyPoint& point : study.points) {
    EXPECT_EQ(point.state, analysis::StudyState::kDone);
  }
  EXPECT_EQ(answer["policies"].at(0)["policy"], "dense");
  EXPECT_EQ(answer["policies"].at(0)["reached"], 2);
  const Result again = Advise("--bandwidth=1Mbps --out=" + In("study") + " 2>&1");
  EXPECT_EQ(again.status, 2);
  EXPECT_NE(again.text.find("is there"), std::string::npos) << again.text;
}

TEST_F(AdviseTest, PricesAreAddedUpToTheCent) {
  const std::string file = In("pair.yaml");
  std::ofstream(file) << "type: links\nhosts: 2\nlinks:\n"
                         "  - {a: host0, b: host1, rate: 1Mbps, delay: 10us, price: 2000/9000}\n";
  const std::string network =
      " --topo=" + file + " --workers=2 --fidelity=analytic --policies=dense,topk";
  const std::string alone = " --seeds=1 --dataset=glyphs --networks=none";
  ASSERT_EQ(Run(kTiny + network + alone + " --out=" + In("run") + " --pictures=off 2>&1").status,
            0);
  const analysis::RunDirectory run = analysis::ReadRunDirectory(folder_ / "run");
  ASSERT_EQ(run.links.size(), 4u);
  for (const analysis::LinkRow& link : run.links) {
    EXPECT_EQ(link.usd_per_gb, link.from == "host0" ? 2000 : 9000);
    EXPECT_DOUBLE_EQ(link.usd, link.usd_per_gb * static_cast<double>(link.bytes) / 1e9);
  }
  // Two workers in a ring each send all of the gradient once a step; headers and ACKs come on top.
  const double payload = 4.0 * static_cast<double>(run.manifest.parameters) * 24;
  const double usd = payload / 1e9 * (2000 + 9000);
  const analysis::Summary summary = analysis::Summarise(run);
  EXPECT_GE(summary.policies[0].egress_usd.mean, usd);
  EXPECT_LE(summary.policies[0].egress_usd.mean, 1.1 * usd);
  EXPECT_LT(summary.policies[1].egress_usd.mean, 0.5 * usd);

  const json answer = AdviseJson(network + " --target=1%");
  // Half of the steps cost half as much, however the figure was computed.
  EXPECT_NEAR(answer["policies"][0]["egress_usd"]["mean"].get<double>(),
              summary.policies[0].egress_usd.mean / 2, 0.005);
  EXPECT_TRUE(answer["break_even"].empty());  // --bandwidth sets no rate of that file
}

TEST_F(AdviseTest, WithoutPricesThereIsNoCost) {
  ASSERT_EQ(Run(kTiny + std::string(" --fidelity=analytic --policies=dense --pictures=off --out=") +
                In("run") + " 2>&1")
                .status,
            0);
  const analysis::Summary summary =
      analysis::Summarise(analysis::ReadRunDirectory(folder_ / "run"));
  EXPECT_EQ(summary.policies[0].egress_usd.count, 0);
  EXPECT_FALSE(summary.policies[0].seeds[0].egress_usd);
}

TEST_F(AdviseTest, PrintConfigIsTheFullStudy) {
  const Result result = Advise("--bandwidth=3Gbps --print-config");
  ASSERT_EQ(result.status, 0) << result.text;
  const StudyPlan plan = PlanStudy(ParseStudy(result.text, "printed"));
  EXPECT_EQ(plan.definition.axes.at(0).axis.values,
            (std::vector<std::string>{"300Mbps", "646Mbps", "1.39Gbps", "3Gbps", "6.46Gbps",
                                      "13.9Gbps", "30Gbps"}));
  EXPECT_EQ(plan.definition.scenario.policies, (std::vector<std::string>{"dense", "topk"}));
  EXPECT_EQ(plan.trainings.front().scenario.steps, 24);
  EXPECT_EQ(plan.points.size(), 2u * 2 * 7);
  EXPECT_EQ(plan.points.front().scenario.target, Scenario().target);
}

// The transport is that of all trainings and points, at the rates around the given one too.
TEST_F(AdviseTest, TransportsHaveTheirOptions) {
  const std::string transport = "roce:cc=hpcc,pfc=on";
  const json answer = AdviseJson("--bandwidth=1Gbps --target=1% --transport=" + transport +
                                 " --out=" + In("study"));
  EXPECT_EQ(answer["policies"].at(1)["policy"], "topk");
  const StudyFolder folder = StudyFolder::Open(In("study"));
  EXPECT_GT(folder.plan().points.size(), 4u);
  for (const PlannedPoint& point : folder.plan().points) {
    EXPECT_EQ(point.scenario.transport.text(), transport);
  }
  for (const analysis::StudyPoint& point : ReadStudy(In("study")).points) {
    EXPECT_EQ(point.state, analysis::StudyState::kDone) << point.message;
  }
  const Result result = Advise("--transport=roce:cc=hpc 2>&1");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.text.find("hpcc"), std::string::npos) << result.text;
}

// A run directory of one training, whose evaluations have these values.
fs::path WriteTraining(const fs::path& folder, const Metric& metric,
                       const std::vector<double>& values) {
  fs::create_directories(folder);
  json manifest = {{"program", "test"}, {"policies", {"dense"}}, {"seeds", {1}},
                   {"workers", 1},      {"parameters", 1},       {"fidelity", "flow"}};
  analysis::SetMetrics(manifest, std::vector{metric}, std::nullopt);
  analysis::WriteManifest(folder, manifest);
  analysis::EvaluationWriter writer(folder, std::vector{metric});
  for (size_t i = 0; i < values.size(); ++i) {
    analysis::EvaluationRow row;
    row.policy = "dense";
    row.seed = 1;
    row.step = static_cast<int64_t>(i);
    row.metrics = {values[i]};
    writer.Write(row);
  }
  return folder;
}

TEST_F(AdviseTest, AChosenTargetIsEasierInEitherDirection) {
  const Metric accuracy = {"accuracy", "accuracy", Metric::Better::kHigher, true};
  const Metric perplexity = {"perplexity", "perplexity", Metric::Better::kLower, false};
  const auto chosen = [&](const Metric& metric, const std::vector<double>& one,
                          const std::vector<double>& other) {
    return ChooseTarget({WriteTraining(folder_ / "one", metric, one),
                         WriteTraining(folder_ / "other", metric, other)});
  };
  // 0.9 x 0.5 of the worse seed; 200 / 0.9 = 222.2, rounded to the easier side.
  EXPECT_EQ(chosen(accuracy, {0.1, 0.5, 0.5, 0.5}, {0.8, 0.8, 0.8}), "45%");
  EXPECT_EQ(chosen(perplexity, {900, 200, 200, 200}, {150, 150, 150}), "223");
  EXPECT_EQ(chosen(perplexity, {1.71, 1.71, 1.71}, {1.5}), "1.9");
  EXPECT_NE(MessageOf([&] {
              chosen(accuracy, {0, 0, 0}, {0.5});
            }).find("no target can be chosen"),
            std::string::npos);
  EXPECT_NE(MessageOf([&] { chosen(perplexity, {INFINITY}, {10}); }).find("no target"),
            std::string::npos);
}

TEST_F(AdviseTest, MistakesSayWhatIsAllowed) {
  const auto text_of = [&](const std::string& arguments) {
    Arguments line(std::string("advise") + kTiny + kQuick + " " + arguments);
    static volatile std::sig_atomic_t never = 0;
    return MessageOf([&] { AdviseCommand(false, line.count(), line.values(), never); });
  };
  EXPECT_NE(text_of("--policies=dense").find("at least one method to compare it with"),
            std::string::npos);
  EXPECT_NE(text_of("--quick-steps=25").find("--quick-steps: got '25'; allowed: 10 to 24"),
            std::string::npos);
  EXPECT_NE(text_of("--quick-steps=3").find("allowed: 10 to 24"), std::string::npos);
  EXPECT_NE(text_of("--sync=backup:k=1").find("advise rests on replays"), std::string::npos);
  EXPECT_NE(text_of("--doctor=on").find("network.doctor: got 'on'"), std::string::npos);
  EXPECT_NE(text_of("--topo=star:hosts=2").find("hosts"), std::string::npos);
  EXPECT_NE(text_of("--bandwidth=fast").find("--bandwidth: got 'fast'"), std::string::npos);
  EXPECT_NE(text_of("--dataset=mnist --data-root=/nowhere").find("/nowhere"), std::string::npos);
  const Result result = Advise("--quick-steps=3 2>&1");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.text.find("legacy-scenario: --quick-steps: got '3'"), std::string::npos)
      << result.text;
  EXPECT_EQ(Advise("--nonsense 2>&1").status, 2);
  EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
}

TEST_F(AdviseTest, HelpNamesIt) {
  const Result advise = Run("advise --help");
  EXPECT_EQ(advise.status, 0);
  EXPECT_NE(advise.text.find("--quick-steps"), std::string::npos);
  EXPECT_NE(advise.text.find("--policies=dense,fp16,topk,topk-global,"), std::string::npos);
  EXPECT_NE(Run("--help").text.find("legacy-scenario advise"), std::string::npos);
}

TEST(AdviseRequest, ShortTrainingsKeepProportions) {
  Scenario scenario = AdviseDefaults();
  scenario.steps = 1000;
  scenario.warmup_steps = 50;
  scenario.evaluate_every = 40;
  scenario.decay_steps = {500, 750};
  const AdviseRequest request = CompleteRequest(RequestOf(scenario));
  EXPECT_EQ(request.quick_steps, kQuickSteps);
  const Scenario quick = ShortScenario(request);
  EXPECT_EQ(quick.steps, 100);
  EXPECT_EQ(quick.warmup_steps, 5);
  EXPECT_EQ(quick.evaluate_every, 4);
  EXPECT_EQ(quick.decay_steps, (std::vector<StepCount>{50, 75}));
  scenario.steps = 60;
  scenario.evaluate_every = 60;  // would leave one evaluation
  EXPECT_EQ(ShortScenario(CompleteRequest(RequestOf(scenario))).evaluate_every, 20);
}

TEST(AdviseRequest, DenseIsAlwaysCompared) {
  Scenario scenario = AdviseDefaults();
  scenario.policies = {"fp16"};
  EXPECT_EQ(CompleteRequest(RequestOf(scenario)).scenario.policies,
            (std::vector<std::string>{"dense", "fp16"}));
}

constexpr const char* kClients =
    " --model=logistic --train-limit=600 --test-limit=200 --clients=12 --rounds=20"
    " --quick-rounds=12 --evaluate-every=2 --seeds=2 --jobs=2 --policies=topk"
    " --population=broadband:up=1Mbps,down=500kbps";

class FederatedAdviseTest : public AdviseTest {
 protected:
  Result Advise(const std::string& arguments) const {
    return Shell("TMPDIR=" + In("tmp") + " " + LEGACY_FEDERATED_PROGRAM + " advise" + kClients +
                 " " + arguments + " 2>" + In("errors"));
  }
};

std::vector<std::string> NamesOf(const json& answer) {
  std::vector<std::string> names;
  for (const json& policy : answer["policies"]) names.push_back(policy["policy"]);
  return names;
}

TEST_F(FederatedAdviseTest, ComparesUpdatesModelsAndBothAndGoesOnAfterAnInterruption) {
  const std::string options = "--price=0.02 --out=" + In("study");
  const Result result = Advise(options);
  ASSERT_EQ(result.status, 0) << Read(In("errors"));
  const json answer = json::parse(Read(In("study/advice.json")));
  const std::string text = Read(In("study/advice.txt"));
  EXPECT_EQ(result.text.rfind(text, 0), 0u) << result.text;
  EXPECT_EQ(text.rfind(answer["words"].get<std::string>(), 0), 0u) << text;
  EXPECT_EQ(NamesOf(answer),
            (std::vector<std::string>{"dense", "topk", "dense/fp16", "topk/fp16"}));
  EXPECT_EQ(answer["policies"][3]["compresses"], "both");
  // At these lines half of each model saves time whatever is learnt from it.
  EXPECT_EQ(answer["policies"][2]["speedup"]["standing"], "sooner");
  for (const json& policy : answer["policies"]) {
    EXPECT_NE(text.find("\n  " + policy["policy"].get<std::string>() + " "), std::string::npos);
    EXPECT_EQ(policy["waits"].get<std::string>().rfind("A round waits for its last counted ", 0),
              0u);
    const bool reached = policy["reached"] == 2;
    EXPECT_EQ(policy["client_hours_to_target"].is_object(), reached);
    EXPECT_EQ(policy["usd_to_target"].is_object(), reached);
  }
  EXPECT_EQ(answer["break_even"].size(), 3u);
  EXPECT_TRUE(answer["break_even"][0]["textbook_bits_per_second"].is_null());
  EXPECT_NE(text.find("the median client, 1 Mbit/s as it is."), std::string::npos) << text;
  EXPECT_NE(text.find("100 kbit/s to 10 Mbit/s"), std::string::npos) << text;
  EXPECT_NE(Read(In("errors")).find("8 trainings of 12 rounds in about "), std::string::npos);

  const Result same = Advise(options + " --resume --json");
  EXPECT_EQ(json::parse(same.text), answer);
  // A kill between the choice of the target and its study, and a training that is lost.
  for (const char* name : {"study/study.yaml", "study/study.sqlite", "study/advice.json"}) {
    fs::remove(In(name));
  }
  fs::remove_all(In("study/journal"));
  for (const auto& entry : fs::directory_iterator(folder_ / "study" / "trainings")) {
    if (!entry.is_directory()) continue;
    fs::remove_all(entry);
    break;
  }
  ASSERT_EQ(Advise(options + " --resume").status, 0) << Read(In("errors"));
  EXPECT_EQ(json::parse(Read(In("study/advice.json"))), answer);
  EXPECT_EQ(Read(In("study/advice.txt")), text);

  EXPECT_EQ(Advise(options).status, 2);
  EXPECT_NE(Read(In("errors")).find("is there"), std::string::npos);
  EXPECT_EQ(Advise(options + " --resume --clients=13").status, 2);
  EXPECT_NE(Read(In("errors")).find("the folder of advice with the same options"),
            std::string::npos)
      << Read(In("errors"));
  EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
}

TEST_F(FederatedAdviseTest, TrainsOnTheLinesAsTheyAreWhereTrainingsReadThem) {
  const Result result = Advise("--over-select=1.5 --downlink=dense --json");
  ASSERT_EQ(result.status, 0) << Read(In("errors"));
  const json answer = json::parse(result.text);
  EXPECT_EQ(NamesOf(answer), (std::vector<std::string>{"dense", "topk"}));
  EXPECT_TRUE(answer["break_even"].empty());
  EXPECT_EQ(answer["target_chosen"], true);
  EXPECT_NE(answer["caveats"].dump().find("what is learnt depends on the lines "
                                          "(federated.over_select: who arrives first"),
            std::string::npos)
      << answer["caveats"];
}

TEST_F(FederatedAdviseTest, AlgorithmsAndExchangesAreRowsToo) {
  const Result result = Advise("--algorithms=fedavg,fedavgm:momentum=0.5,rate=1 --print-config");
  ASSERT_EQ(result.status, 0) << Read(In("errors"));
  const StudyPlan plan = PlanStudy(ParseStudy(result.text, "printed"));
  EXPECT_EQ(plan.definition.baseline, "fedavg dense");
  EXPECT_EQ(plan.definition.scenario.policies.back(), "fedavgm:momentum=0.5;rate=1 topk/fp16");
  EXPECT_EQ(plan.trainings.size(), 2u * 2 * 2 * 2);
  EXPECT_EQ(plan.points.size(), plan.trainings.size() * 7);
  EXPECT_EQ(plan.trainings.front().scenario.federated->rounds, 20);
  EXPECT_EQ(plan.points.front().scenario.federated->up_rates, 0.1);

  const Result exchange = Advise("--exchange=ring-allreduce --clients=4 --json");
  ASSERT_EQ(exchange.status, 0) << Read(In("errors"));
  const json answer = json::parse(exchange.text);
  EXPECT_EQ(NamesOf(answer), (std::vector<std::string>{"dense", "topk"}));
  EXPECT_EQ(answer["policies"][0]["waits"].get<std::string>().rfind("A version ends when all ", 0),
            0u);
}

TEST_F(FederatedAdviseTest, MistakesSayWhatIsAllowed) {
  const auto complaint = [&](const std::string& arguments) {
    EXPECT_EQ(Advise(arguments).status, 2) << arguments;
    return Read(In("errors"));
  };
  EXPECT_NE(complaint("--policies=dense --downlink=dense").find("at least one method"),
            std::string::npos);
  EXPECT_NE(complaint("--quick-rounds=3")
                .find("--quick-rounds: got '3'; allowed: 10 to 20, the rounds of the full "
                      "training (--rounds)"),
            std::string::npos);
  EXPECT_NE(complaint("--rounds=5").find("federated.rounds: got '5'; allowed: 10 or more"),
            std::string::npos);
  EXPECT_NE(complaint("--local=all").find("--local: got 'all'"), std::string::npos);
  EXPECT_NE(complaint("--target=none").find("advice compares times to it"), std::string::npos);
  EXPECT_NE(complaint("--tasks=off").find("advise keeps no single run"), std::string::npos);
  EXPECT_NE(complaint("--resume --out=" + In("none")).find("a folder that is there"),
            std::string::npos);
  EXPECT_EQ(Advise("--nonsense").status, 2);
  EXPECT_EQ(Advise("--workers=4").status, 2);
  EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
}

}  // namespace
}  // namespace legacy::advise_test