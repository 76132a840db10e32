// What-if: its answers equal those of legacy-replay, whatever computes them.
#include "scenarios/study/what_if/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "analysis/run_directory.h"
#include "scenarios/replay/replay.h"
#include "scenarios/run/recording.h"
#include "scenarios/study/what_if/json.h"
#include "scenarios/study/what_if/recorded_study.h"
#include "tests/message_of.h"
#include "tests/scenarios/study/what_if_testing.h"

namespace legacy::what_if_test {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr double kLong = 600;
bool Never() { return false; }
volatile std::sig_atomic_t g_never = 0;

void ExpectEqual(const WhatIfSeed& answer, const analysis::SeedSummary& expected) {
  EXPECT_EQ(answer.seed, expected.seed);
  EXPECT_EQ(answer.time_to_target, expected.time_to_target);
  EXPECT_EQ(answer.simulated_seconds, expected.simulated_seconds);
  EXPECT_EQ(answer.step.total, expected.step.total);
  EXPECT_EQ(answer.step.compute, expected.step.compute);
  EXPECT_EQ(answer.step.encode, expected.step.encode);
  EXPECT_EQ(answer.step.communication, expected.step.communication);
  EXPECT_EQ(answer.step.decode, expected.step.decode);
  EXPECT_EQ(answer.step.wait, expected.step.wait);
}

class WhatIfTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    study_ = std::make_unique<SmallStudy>("legacy-what-if");
    what_if_ = std::make_unique<WhatIf>(ReadWhatIfStudy(study_->folder, study_->plan), 2);
  }
  static void TearDownTestSuite() {
    what_if_.reset();
    study_.reset();
  }

  static std::shared_ptr<const WhatIfAnswer> Ask(const WhatIfQuestion& question) {
    return what_if_->Answer(question, kLong, Never);
  }
  static std::string Refusal(const std::string& json) {
    return MessageOf([&] { Ask(ParseQuestion(json)); });
  }
  static Scenario ScenarioOf(const std::string& json) {
    const WhatIfQuestion question = ParseQuestion(json);
    return what_if_->ScenarioOf(what_if_->study().groups.at(question.group).trainings.at(0),
                                question);
  }

  static std::unique_ptr<SmallStudy> study_;
  static std::unique_ptr<WhatIf> what_if_;
};

std::unique_ptr<SmallStudy> WhatIfTest::study_;
std::unique_ptr<WhatIf> WhatIfTest::what_if_;

TEST_F(WhatIfTest, GroupsShareTrainingsThatNeverReadTheirAxis) {
  const WhatIfStudy& study = what_if_->study();
  EXPECT_EQ(study.recordings.size(), 6u) << "dense once a seed, topk once a seed and density";
  ASSERT_EQ(study.groups.size(), 2u);
  EXPECT_EQ(study.groups[0].label, "4 workers, density 1%");
  EXPECT_EQ(study.groups[1].label, "4 workers, density 10%");
  for (const WhatIfGroup& group : study.groups) {
    std::vector<std::string> order;
    for (const WhatIfTraining& training : group.trainings) {
      order.push_back(training.scenario.policies.at(0) + std::to_string(training.scenario.seed));
    }
    EXPECT_THAT(order, ElementsAre("dense1", "dense2", "topk1", "topk2"));
  }
  EXPECT_EQ(study.groups[0].trainings[0].recording, study.groups[1].trainings[0].recording);
  EXPECT_NE(study.groups[0].trainings[2].recording, study.groups[1].trainings[2].recording);
}

TEST_F(WhatIfTest, AnswersWhatReplayLeavesToTheBit) {
  const WhatIfQuestion question = ParseQuestion(R"({
      "group": 1, "bandwidth": 2.5e8, "delay": 5e-5, "topology": "leaf-spine:leaves=2,hosts=2",
      "slowdown": 2.5, "slow_workers": 3, "device_speed": 4, "codec_speed": 0.5,
      "fidelity": "flow"})");
  const WhatIfAnswer answer = *Ask(question);
  ASSERT_EQ(answer.size(), 2u);
  for (const PlannedTraining& training : study_->plan.trainings) {
    if (training.scenario.policies[0] == "topk" && training.scenario.density != 0.1) continue;
    const Recording recording = ReadRecording(TrainingFolder(study_->folder, training).string());
    Scenario scenario = ReplayDefaults(recording);
    for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
             {"network.bandwidth", "250Mbps"},
             {"network.delay", "50us"},
             {"network.topology", "leaf-spine:leaves=2,hosts=2"},
             {"network.stragglers", "fixed:count=3,factor=2.5"},
             {"clock.device_speed", "4"},
             {"clock.codec_speed", "0.5"},
             {"network.fidelity", "flow"},
             {"training.target", "5%"},
             {"run.pictures", "off"},
             {"run.out", (study_->folder / ("replay-" + training.id)).string()}}) {
      SetOption(scenario, key, value);
    }
    Replay(recording, scenario, "legacy-replay", "test", g_never);
    const analysis::RunDirectory run = analysis::ReadRunDirectory(scenario.out);
    const WhatIfPolicy& policy = answer[scenario.policies[0] == "dense" ? 0 : 1];
    EXPECT_EQ(policy.policy, scenario.policies[0]);
    ASSERT_EQ(policy.seeds.size(), 2u);
    const WhatIfSeed& seed = policy.seeds[scenario.seed - 1];
    ExpectEqual(seed, analysis::Summarise(run).policies.at(0).seeds.at(0));
    ASSERT_EQ(seed.curve.size(), run.evaluations.size());
    for (size_t i = 0; i < seed.curve.size(); ++i) {
      EXPECT_EQ(seed.curve[i].first, run.evaluations[i].simulated_seconds);
      EXPECT_EQ(seed.curve[i].second, run.evaluations[i].metrics.at(0));
    }
  }
}

// A study over RoCEv2 keeps its transport on other networks, at both fidelities that answer.
TEST(WhatIfRoceTest, AnswersWhatReplayLeavesToTheBit) {
  std::string definition = kSmallStudy;
  const std::string star = "topology: star";
  definition.replace(definition.find(star), star.size(),
                     star + ", transport: {roce: {cc: hpcc, pfc: on}}");
  const SmallStudy study("legacy-what-if-roce", definition);
  WhatIf what_if(ReadWhatIfStudy(study.folder, study.plan), 1);
  for (const char* fidelity : {"flow", "analytic"}) {
    const WhatIfAnswer answer =
        *what_if.Answer(ParseQuestion(std::string(R"({"bandwidth": 1e11, "fidelity": ")") +
                                      fidelity + R"(", "policies": ["dense"]})"),
                        kLong, Never);
    ASSERT_EQ(answer.size(), 1u);
    const PlannedTraining& training = study.plan.trainings.at(0);
    ASSERT_EQ(training.scenario.policies.at(0), "dense");
    const Recording recording = ReadRecording(TrainingFolder(study.folder, training).string());
    const auto replayed = [&](const std::string& transport) {
      Scenario scenario = ReplayDefaults(recording);
      for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
               {"network.bandwidth", "100Gbps"},
               {"network.delay", "20us"},
               {"network.topology", "star"},
               {"network.transport", transport},
               {"network.stragglers", "fixed:count=1,factor=2"},
               {"network.fidelity", fidelity},
               {"training.target", "5%"},
               {"run.pictures", "off"},
               {"run.overwrite", "on"},
               {"run.out", (study.folder / "replay").string()}}) {
        SetOption(scenario, key, value);
      }
      Replay(recording, scenario, "legacy-replay", "test", g_never);
      return analysis::Summarise(analysis::ReadRunDirectory(scenario.out)).policies.at(0).seeds;
    };
    const WhatIfSeed& seed = answer[0].seeds.at(training.scenario.seed - 1);
    ExpectEqual(seed, replayed("roce:cc=hpcc").at(0));
    EXPECT_NE(seed.step.communication, replayed("datacenter").at(0).step.communication);
  }
}

TEST_F(WhatIfTest, DefaultsAreTheStudysFirstPoint) {
  const WhatIfQuestion defaults = what_if_->Defaults(0);
  EXPECT_EQ(defaults.bandwidth, "1Gbps");
  EXPECT_EQ(defaults.delay, "20us");
  EXPECT_EQ(defaults.topology, "star");
  EXPECT_EQ(defaults.fidelity, "analytic");
  EXPECT_EQ(defaults.slow_workers, 1);
  EXPECT_EQ(defaults.slowdown, 2);
  EXPECT_EQ(defaults.device_speed, 1);
  const WhatIfAnswer given = *Ask(defaults);
  const WhatIfAnswer left_out = *Ask({});
  const size_t training = study_->plan.points[0].training;
  const TrainedRun trained = ReadTraining(study_->folder, study_->plan.trainings[training]);
  const analysis::StudyPoint point = TimePoint(study_->plan, 0, trained);
  for (const WhatIfAnswer& answer : {given, left_out}) {
    const WhatIfSeed& seed = answer.at(point.policy == "dense" ? 0 : 1).seeds.at(point.seed - 1);
    EXPECT_EQ(seed.simulated_seconds, point.figures.simulated_seconds);
    EXPECT_EQ(seed.time_to_target, point.figures.time_to_target);
    EXPECT_EQ(seed.step.communication, point.figures.communication_seconds);
  }
}

TEST_F(WhatIfTest, OneThreadAnswersAsTwoDo) {
  WhatIf alone(ReadWhatIfStudy(study_->folder, study_->plan), 1);
  const WhatIfQuestion question = ParseQuestion(R"({"fidelity": "flow", "bandwidth": "3Gbps"})");
  EXPECT_EQ(ToJson(*alone.Answer(question, kLong, Never)), ToJson(*Ask(question)));
}

TEST_F(WhatIfTest, MemoisesTheSameQuestion) {
  const auto first = Ask(ParseQuestion(R"({"bandwidth": 7e9})"));
  EXPECT_EQ(first, Ask(ParseQuestion(R"({"bandwidth": 7000000000})")));
  EXPECT_NE(first, Ask(ParseQuestion(R"({"bandwidth": 7e9, "seeds": [1]})")));
}

TEST_F(WhatIfTest, AnswersForSomePoliciesAndSeeds) {
  const WhatIfAnswer answer = *Ask(ParseQuestion(R"({"policies": ["topk"], "seeds": [2]})"));
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer[0].policy, "topk");
  ASSERT_EQ(answer[0].seeds.size(), 1u);
  EXPECT_EQ(answer[0].seeds[0].seed, 2u);
  const WhatIfAnswer all = *Ask({});
  analysis::SeedSummary expected;
  expected.seed = 2;
  expected.simulated_seconds = all[1].seeds[1].simulated_seconds;
  expected.time_to_target = all[1].seeds[1].time_to_target;
  expected.step = all[1].seeds[1].step;
  ExpectEqual(answer[0].seeds[0], expected);
  EXPECT_EQ(Refusal(R"({"policies": ["fp16"]})"), "policies: got 'fp16'; allowed: dense, topk");
  EXPECT_EQ(Refusal(R"({"seeds": [3]})"), "seeds: got '3'; allowed: 1, 2");
}

TEST_F(WhatIfTest, RefusesInvalidQuestions) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"group": 2})", "group: got '2'; allowed: 0 to 1"},
      {R"({"bandwidth": "fast"})", "network.bandwidth: got 'fast'"},
      {R"({"bandwidth": -1})", "network.bandwidth: got '-1bps'"},
      {R"({"delay": -1})", "network.delay: got '-1s'"},
      {R"({"delay": 9e9})", "network.delay: got '9e+09s'; allowed: "},
      {R"({"slow_workers": 9223372036854775809})", "slow_workers: got '9223372036854775809'"},
      {R"({"fidelity": "packet"})", "network.fidelity: got 'packet'; allowed: flow, analytic"},
      {R"({"topology": "fat-tree:k=3"})", "k"},
      {R"({"topology": "star:hosts=2"})", "hosts"},
      {R"({"slow_workers": 5})", "at most 4 workers"},
      {R"({"slowdown": 0.5})", "factor"},
      {R"({"device_speed": 0})", "clock.device_speed: got '0'"},
      {R"({"codec_speed": -2})", "clock.codec_speed: got '-2'"},
      {R"({"up_rates": 2})", "question: got 'up_rates'; allowed: of a group of workers: group, "},
  };
  for (const auto& [question, message] : cases) {
    EXPECT_THAT(Refusal(question), HasSubstr(message)) << question;
  }
}

TEST_F(WhatIfTest, ReadsNoFilesOfTheClientsChoice) {
  for (const char* file :
       {"/etc/passwd", "topologies/a.yaml", "a.topo", "hpcc:/etc/passwd", "x", "star:x/y.yaml",
        "star:/etc/passwd", "star:rate=1Gbps/x.topo", "star:x.txt"}) {
    EXPECT_THAT(Refusal(std::string(R"({"topology": ")") + file + "\"}"),
                StartsWith(std::string("network.topology: got '") + file))
        << file;
  }
}

TEST_F(WhatIfTest, SlowWorkersReplaceStragglers) {
  EXPECT_EQ(ScenarioOf("{}").stragglers, "fixed:count=1,factor=2");
  EXPECT_EQ(ScenarioOf(R"({"slowdown": 3})").stragglers, "fixed:count=1,factor=3");
  EXPECT_EQ(ScenarioOf(R"({"slow_workers": 2})").stragglers, "fixed:count=2,factor=2");
  EXPECT_EQ(ScenarioOf(R"({"slow_workers": 0})").stragglers, "none");
  EXPECT_EQ(ScenarioOf(R"({"slowdown": 1})").stragglers, "none");
}

TEST_F(WhatIfTest, ASlowdownHasAnEffectWhereNoWorkerIsSlow) {
  WhatIfTraining training = what_if_->study().groups.at(0).trainings.at(0);
  training.scenario.stragglers = "none";
  const auto stragglers = [&](const char* json) {
    return what_if_->ScenarioOf(training, ParseQuestion(json)).stragglers;
  };
  EXPECT_EQ(stragglers(R"({"slowdown": 3})"), "fixed:count=1,factor=3");
  EXPECT_EQ(stragglers(R"({"slowdown": 3, "slow_workers": 2})"), "fixed:count=2,factor=3");
  EXPECT_EQ(stragglers(R"({"slowdown": 3, "slow_workers": 0})"), "none");
  EXPECT_THAT(MessageOf([&] { stragglers(R"({"slow_workers": 2})"); }),
              HasSubstr("slow_workers: got '2'; allowed: together with slowdown"));
}

TEST_F(WhatIfTest, TellsWhichOptionsATopologyFileDoesNotRead) {
  const std::string file = (study_->folder / "lab.yaml").string();
  const auto unread = [&](const std::string& link) {
    std::ofstream lines(file);
    lines << "type: links\nhosts: [a, b, c, d]\nswitches: [s]\nlinks:\n";
    for (const char* host : {"a", "b", "c", "d"}) {
      lines << "  - {a: " << host << ", b: s" << link << "}\n";
    }
    lines.close();
    WhatIfStudy study = what_if_->study();
    study.topologies.insert(file);
    WhatIfQuestion question;
    question.topology = file;
    return WhatIf(std::move(study), 1).Unread(question);
  };
  EXPECT_THAT(unread(""), ElementsAre());
  EXPECT_THAT(unread(", rate: 1Gbps"),
              ElementsAre(Pair("bandwidth",
                               "the topology file gives every link a bandwidth of its "
                               "own")));
  EXPECT_THAT(unread(", rate: 1Gbps, delay: 5us"),
              ElementsAre(Pair("bandwidth", _), Pair("delay", _)));
  EXPECT_THAT(what_if_->Unread({}), ElementsAre());
}

TEST_F(WhatIfTest, AnotherRateOrDelayEndsTheNetworkSchedule) {
  WhatIfTraining training = what_if_->study().groups[0].trainings[0];
  SetOption(training.scenario, "network.phases", "0%:bandwidth=1Gbps;50%:bandwidth=1Mbps");
  const auto phases = [&](const std::string& json) {
    return what_if_->ScenarioOf(training, ParseQuestion(json)).network_schedule.text();
  };
  EXPECT_EQ(phases(R"({"bandwidth": 1e9, "delay": 20e-6})"),
            "0%:bandwidth=1Gbps;50%:bandwidth=1Mbps");
  EXPECT_EQ(phases(R"({"bandwidth": 2e9})"), "none");
  EXPECT_EQ(phases(R"({"delay": "1ms"})"), "none");
}

TEST_F(WhatIfTest, StopsBetweenStepsAndAtItsLimit) {
  const WhatIfQuestion question = ParseQuestion(R"({"bandwidth": 123456789})");
  std::atomic<int> asked = 0;
  EXPECT_THROW(what_if_->Answer(question, kLong, [&] { return ++asked > 4; }), WhatIfStopped);
  EXPECT_THROW(what_if_->Answer(question, 0, Never), WhatIfStopped);
  EXPECT_EQ(Ask(question)->size(), 2u) << "nothing of a stopped answer is remembered";
}

TEST(WhatIfJsonTest, RefusesMalformedQuestions) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "question: byte 1: not valid JSON"},
      {"{", "not valid JSON"},
      {"[1]", "a JSON object"},
      {"{\"bandwidth\": \"\xff\"}", "not valid JSON"},
      {R"({"bandwith": 1})", "question: got 'bandwith'; allowed: group, bandwidth, delay"},
      {R"({"bandwidth": true})", "bandwidth: got 'true'; allowed: a number"},
      {R"({"topology": 1})", "topology: got '1'; allowed: a text"},
      {R"({"slowdown": "2"})", "slowdown: got '\"2\"'; allowed: a number"},
      {R"({"slow_workers": 1.5})", "slow_workers: got '1.5'; allowed: a whole number"},
      {R"({"group": -1})", "group: got '-1'"},
      {R"({"policies": "topk"})", "policies: got '\"topk\"'; allowed: a list"},
      {R"({"seeds": [null]})", "seeds: got 'null'"},
      {"{\"delay\": " + std::string(30000, '[') + std::string(30000, ']') + "}",
       "nested deeper than 64 levels"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(MessageOf([&] { ParseQuestion(text); }), HasSubstr(message)) << text.substr(0, 80);
  }
}

TEST(WhatIfJsonTest, WritesWhatWasNotReachedAsNull) {
  WhatIfSeed seed;
  seed.seed = 3;
  seed.simulated_seconds = 2;
  seed.curve = {{1, 0.5}};
  const WhatIfAnswer answer = {{"topk", {seed}}};
  EXPECT_EQ(ToJson(answer).dump(),
            R"({"policies":[{"policy":"topk","seeds":[{"curve":[[1.0,0.5]],"parts":{)"
            R"("communication":0.0,"compute":0.0,"decode":0.0,"encode":0.0,"wait":0.0},)"
            R"("seed":3,"simulated_seconds":2.0,"step_seconds":0.0,"time_to_target":null}]}]})");
}

}  // namespace
}  // namespace legacy::what_if_test