// What-if of federated trainings: its answers equal those of legacy-federated replay, or plan, and
// move as lines, devices and prices do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run_directory.h"
#include "analysis/summary.h"
#include "scenarios/federated/plan_files.h"
#include "scenarios/federated/plan_report.h"
#include "scenarios/replay/replay_source.h"
#include "scenarios/study/what_if/json.h"
#include "scenarios/study/what_if/recorded_study.h"
#include "scenarios/study/what_if/what_if.h"
#include "tests/message_of.h"
#include "tests/scenarios/study/what_if_testing.h"

namespace legacy::what_if_clients_test {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr double kLong = 600;
bool Never() { return false; }
StopFlag g_never = 0;

// Ten hospitals between regions; houses of one switch; two trainings that can be planned alone; and
// one that cannot be asked about.
constexpr const char* kClients = R"(
study: {name: clients, baseline: dense}
scenario:
  training: {dataset: glyphs, model: logistic, evaluate_every: 1, train_limit: 600, target: 12%}
  federated: {per_round: 4, rounds: 4}
  compression: {policies: [dense, topk]}
  run: {seeds: 2}
grid:
  where:
    cases:
      hospitals: {population: "ROOT/scenarios/federated/hospitals.population.yaml",
                  topo: "regions:ROOT/topologies/hospitals.yaml"}
      houses: {population: "broadband:up=5Mbps", clients: 12}
      ahead: {clients: 12, over-select: 1.5}
      free: {clients: 12, server: "async:concurrency=6", algorithms: "fedbuff:k=3", per-round: ""}
      ring: {clients: 12, exchange: ring-allreduce, per-round: ""}
)";

std::string Definition() {
  std::string text = kClients;
  for (size_t at; (at = text.find("ROOT")) != std::string::npos;) text.replace(at, 4, LEGACY_ROOT);
  return text;
}

class WhatIfClientsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    study_ = std::make_unique<SmallStudy>("legacy-what-if-clients", Definition());
    what_if_ = std::make_unique<WhatIf>(ReadWhatIfStudy(study_->folder, study_->plan), 2);
  }
  static void TearDownTestSuite() {
    what_if_.reset();
    study_.reset();
  }

  static WhatIfAnswer Ask(const std::string& json) {
    return *what_if_->Answer(ParseQuestion(json), kLong, Never);
  }
  // Returns the dense answer with the first seed.
  static WhatIfSeed Dense(const std::string& json) { return Ask(json).at(0).seeds.at(0); }
  static std::string Refusal(const std::string& json) {
    return MessageOf([&] { Ask(json); });
  }

  static std::unique_ptr<SmallStudy> study_;
  static std::unique_ptr<WhatIf> what_if_;
};

std::unique_ptr<SmallStudy> WhatIfClientsTest::study_;
std::unique_ptr<WhatIf> WhatIfClientsTest::what_if_;

TEST_F(WhatIfClientsTest, GroupsAreThoseThatCanBeReplayedWithAServer) {
  const WhatIfStudy& study = what_if_->study();
  ASSERT_EQ(study.groups.size(), 4u);
  EXPECT_EQ(study.groups[0].label, "10 clients, where hospitals");
  EXPECT_EQ(study.groups[1].label, "12 clients, where houses");
  EXPECT_EQ(study.groups[0].trainings.size(), 4u);
  EXPECT_TRUE(study.groups[0].OfClients());
  EXPECT_FALSE(study.groups[1].Planned());

  ASSERT_EQ(study.refused.size(), 3u);
  const WhatIfRefused &ahead = study.refused[0], &ring = study.refused[2];
  EXPECT_EQ(ahead.label, "12 clients, where ahead");
  EXPECT_THAT(ahead.policies, ElementsAre("dense", "topk"));
  EXPECT_THAT(ahead.reason, HasSubstr("federated.over_select: who arrives first depends"));
  EXPECT_THAT(ahead.command, StartsWith("legacy-federated --clients=12 "));
  EXPECT_THAT(ahead.command, HasSubstr(" --over-select=1.5 "));
  EXPECT_THAT(ahead.command, HasSubstr(" --policies=dense,topk"));
  EXPECT_THAT(ahead.plan, StartsWith("legacy-federated plan --clients=12 "));
  EXPECT_THAT(ahead.plan, HasSubstr(" --down-bytes=31400 --up-bytes=31432 --client-seconds="));
  EXPECT_THAT(ring.reason, HasSubstr("exchange by ring-allreduce, without the server"));
  EXPECT_THAT(ring.command, StartsWith("legacy-federated replay "));
  EXPECT_EQ(ring.plan, "");
  EXPECT_EQ(ring.planned_by, std::nullopt);
}

// Returns the options of a command line of legacy-federated plan.
PlanOptions OptionsOf(const std::string& line) {
  PlanOptions options;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const size_t at = word.find('=');
    if (at == std::string::npos) continue;
    PlanRow(word.substr(0, at)).set(options, word.substr(0, at), word.substr(at + 1));
  }
  return options;
}

TEST_F(WhatIfClientsTest, PlansWhatCannotBeReplayedToTheBit) {
  const WhatIfStudy& study = what_if_->study();
  ASSERT_EQ(study.refused[0].planned_by, 2u);
  ASSERT_EQ(study.refused[1].planned_by, 3u);
  EXPECT_EQ(study.groups[2].label, "12 clients, where ahead");
  EXPECT_TRUE(study.groups[2].Planned());
  EXPECT_EQ(study.groups[3].trainings.size(), 4u);
  EXPECT_EQ(study.refused[0].plan, Ask(R"({"group": 2})").at(0).seeds.at(0).plan->command);

  for (const char* question :
       {R"({"group": 2})", R"({"group": 2, "up_rates": 0.25, "server_rate": "20Mbps",
            "connections": "quic", "streams": 2, "packet_loss": 1e-3, "device_speed": 0.5})",
        R"({"group": 3})", R"({"group": 3, "down_rates": 0.1, "fidelity": "analytic"})"}) {
    for (const WhatIfPolicy& policy : Ask(question)) {
      for (const WhatIfSeed& seed : policy.seeds) {
        const PlanRequest request = ParsePlan(OptionsOf(seed.plan->command));
        const Plan plan = RunPlan(request);
        EXPECT_EQ(request.seed, seed.seed);
        EXPECT_EQ(plan.versions, seed.plan->versions);
        EXPECT_EQ(seed.plan->wanted, 4);
        EXPECT_EQ(InSeconds(plan.rounds.back().row.end), seed.simulated_seconds);
        const std::vector<analysis::Table> tables = PlanTables(request, plan);
        ASSERT_EQ(tables.size(), seed.plan->tables.size());
        for (size_t i = 0; i < tables.size(); ++i) {
          EXPECT_EQ(analysis::RenderText(tables[i]), analysis::RenderText(seed.plan->tables[i]));
        }
        double up = 0;
        std::vector<double> seconds;
        for (const PlannedRound& round : plan.rounds) {
          up += static_cast<double>(round.wire_up) / 1e6;
          seconds.push_back(InSeconds(round.row.end) - InSeconds(round.row.start));
        }
        EXPECT_EQ(seed.plan->mb_up, up);
        EXPECT_EQ(seed.plan->round_median, Quantile(seconds, 0.5));
        EXPECT_EQ(seed.curve.back(), std::pair(seed.simulated_seconds, 4.0));
        EXPECT_FALSE(seed.time_to_target.has_value());
      }
    }
  }
  EXPECT_THAT(Dense(R"({"group": 2, "up_rates": 0.25, "device_speed": 0.5})").plan->command,
              AllOf(HasSubstr(" --clients=12 "), HasSubstr(" --up-rates=0.25 "),
                    HasSubstr(" --over-select=1.5")));
  EXPECT_THAT(Dense(R"({"group": 3})").plan->command,
              HasSubstr(" --server=async:concurrency=6,buffer=3 "));
}

TEST_F(WhatIfClientsTest, PlansMoveAsLinesAndDevicesDo) {
  const auto plan = [](const std::string& json) { return Dense("{\"group\": 2" + json + "}"); };
  const WhatIfSeed own = plan("");
  EXPECT_LT(own.plan->counted, own.plan->started) << "it starts more tasks than it counts";
  EXPECT_LT(own.simulated_seconds, plan(R"(, "up_rates": 0.1)").simulated_seconds);
  EXPECT_LT(own.simulated_seconds, plan(R"(, "device_speed": 1e-3)").simulated_seconds);
  EXPECT_LT(own.round->work, plan(R"(, "device_speed": 1e-3)").round->work);
  EXPECT_NEAR(plan(R"(, "device_speed": 0.1)").round->work, 10 * own.round->work,
              2e-9 + 1e-3 * own.round->work);
  EXPECT_THAT(what_if_->Unread(what_if_->Defaults(2)), Contains(Pair("codec_speed", _)));
  EXPECT_THAT(Refusal(R"({"group": 2, "core_rates": 2})"),
              HasSubstr("--core-rates: got '2'; allowed: 1: without --topology"));
  const WhatIfQuestion slow = ParseQuestion(R"({"group": 2, "up_rates": 0.77})");
  std::atomic<int> asked = 0;
  EXPECT_THROW(what_if_->Answer(slow, kLong, [&] { return ++asked > 4; }), WhatIfStopped);
  EXPECT_LT(asked, 16) << "it asks at each transfer";
  EXPECT_EQ(what_if_->Answer(slow, kLong, Never), what_if_->Answer(slow, kLong, Never))
      << "answers are memoised";

  const nlohmann::json document = GroupsDocument(*what_if_);
  EXPECT_EQ(document["groups"][2]["planned"], true);
  EXPECT_EQ(document["groups"][1]["planned"], false);
  EXPECT_EQ(document["refused"][0]["group"], 2);
  EXPECT_TRUE(document["refused"][2]["group"].is_null());
}

TEST_F(WhatIfClientsTest, ANeutralQuestionIsTheStudysOwnToTheBit) {
  for (size_t group = 0; group < 2; ++group) {
    const auto defaults = what_if_->Answer(what_if_->Defaults(group), kLong, Never);
    const WhatIfAnswer left_out = Ask("{\"group\": " + std::to_string(group) + "}");
    const std::string where = group == 0 ? "hospitals" : "houses";
    for (size_t id = 0; id < study_->plan.points.size(); ++id) {
      const PlannedTraining& training = study_->plan.trainings[study_->plan.points[id].training];
      const analysis::StudyPoint point =
          TimePoint(study_->plan, id, ReadTraining(study_->folder, training));
      if (point.values[0] != where) continue;
      for (const WhatIfAnswer& answer : {*defaults, left_out}) {
        const WhatIfSeed& seed =
            answer.at(point.policy == "dense" ? 0 : 1).seeds.at(point.seed - 1);
        EXPECT_EQ(seed.simulated_seconds, point.figures.simulated_seconds);
        EXPECT_EQ(seed.time_to_target, point.figures.time_to_target);
        EXPECT_EQ(seed.step.total, point.figures.step_seconds);
        EXPECT_EQ(seed.step.communication, point.figures.communication_seconds);
        ASSERT_EQ(seed.curve.size(), point.curve.size());
        for (size_t i = 0; i < seed.curve.size(); ++i) {
          EXPECT_EQ(seed.curve[i].first, point.curve[i].simulated_seconds);
          EXPECT_EQ(seed.curve[i].second, point.curve[i].metrics.at(0));
        }
        const WhatIfRound& round = seed.round.value();
        EXPECT_NEAR(round.download + round.work + round.upload + round.wait, seed.step.total,
                    1e-12);
      }
    }
  }
}

TEST_F(WhatIfClientsTest, AnswersWhatReplayLeavesToTheBit) {
  const WhatIfAnswer answer = Ask(R"({"up_rates": 0.5, "down_rates": 3, "packet_loss": 1e-3,
      "core_rates": 0.1, "core_delays": 2, "server_at": "aws:us-east-1", "server_rate": "1Gbps",
      "streams": 2, "connections": "quic", "device_speed": 3, "prices": 2})");
  for (const PlannedTraining& training : study_->plan.trainings) {
    if (training.scenario.federated->clients != 10) continue;
    const std::string folder = TrainingFolder(study_->folder, training).string();
    Scenario scenario =
        OnNetworkOf(study_->plan.points[0].scenario, ReadRecordedRun(folder)->Defaults());
    for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
             {"federated.up_rates", "0.5"},
             {"federated.down_rates", "3"},
             {"federated.packet_loss", "0.001"},
             {"federated.core_rates", "0.1"},
             {"federated.core_delays", "2"},
             {"federated.at", "aws:us-east-1"},
             {"federated.server_rate", "1Gbps"},
             {"network.streams", "2"},
             {"network.connections", "quic"},
             {"clock.device_speed", "3"},
             {"federated.prices", "2"},
             {"run.pictures", "off"},
             {"run.out", (study_->folder / ("replay-" + training.id)).string()}}) {
      SetOption(scenario, key, value);
    }
    std::FILE* log = std::fopen("/dev/null", "w");
    ReadRecordedRun(folder)->Run(scenario, "legacy-replay", "test", g_never, log);
    std::fclose(log);
    const analysis::RunDirectory run = analysis::ReadRunDirectory(scenario.out);
    const analysis::SeedSummary expected = analysis::Summarise(run).policies.at(0).seeds.at(0);
    const WhatIfSeed& seed =
        answer[scenario.policies[0] == "dense" ? 0 : 1].seeds.at(scenario.seed - 1);
    EXPECT_EQ(seed.simulated_seconds, expected.simulated_seconds);
    EXPECT_EQ(seed.time_to_target, expected.time_to_target);
    EXPECT_EQ(seed.round->usd_to_target, expected.usd_to_target);
    EXPECT_GT(seed.round->usd_to_target, 0);
    EXPECT_EQ(seed.curve.back().second, run.evaluations.back().metrics.at(0));
  }
}

TEST_F(WhatIfClientsTest, TimesMoveAsTheLinesDo) {
  const WhatIfSeed own = Dense("{}");
  const auto seconds = [](const std::string& json) { return Dense(json).simulated_seconds; };
  EXPECT_LT(seconds(R"({"up_rates": 2})"), own.simulated_seconds);
  EXPECT_LT(seconds(R"({"down_rates": 2})"), own.simulated_seconds);
  const std::pair<const char*, bool> sweeps[] = {{"up_rates", true},
                                                 {"down_rates", true},
                                                 {"core_rates", true},
                                                 {"device_speed", true},
                                                 {"core_delays", false}};
  for (const auto& [key, shortens] : sweeps) {
    double last = shortens ? 1e9 : 0;
    for (const char* factor : {"0.03", "0.2", "1", "5"}) {
      const double now = seconds("{\"" + std::string(key) + "\": " + factor + "}");
      EXPECT_TRUE(shortens ? now < last : now > last) << key << " " << factor;
      last = now;
    }
  }
  const double lossy = seconds(R"({"packet_loss": 0.01})");
  EXPECT_LT(own.simulated_seconds, lossy);
  EXPECT_LT(seconds(R"({"packet_loss": 0.01, "streams": 8})"), lossy);
  EXPECT_LT(own.simulated_seconds, seconds(R"({"server_rate": 1e6})"));
  EXPECT_NE(own.simulated_seconds, seconds(R"({"server_at": "aws:us-east-1"})"));
  EXPECT_LT(seconds(R"({"connections": "warm"})"), own.simulated_seconds);
  EXPECT_NE(own.simulated_seconds, seconds(R"({"fidelity": "analytic"})"));

  const WhatIfSeed faster = Dense(R"({"device_speed": 2})");
  EXPECT_LT(faster.round->work, own.round->work);
  EXPECT_EQ(faster.curve.back().second, own.curve.back().second);
  const WhatIfSeed dear = Dense(R"({"prices": 4})");
  EXPECT_EQ(dear.simulated_seconds, own.simulated_seconds);
  ASSERT_TRUE(own.round->usd_to_target.has_value()) << "the target is one that trainings reach";
  EXPECT_NEAR(*dear.round->usd_to_target, 4 * *own.round->usd_to_target, 1e-12);
}

TEST_F(WhatIfClientsTest, TellsWhatAPopulationCannotAnswer) {
  EXPECT_THAT(what_if_->Unread(what_if_->Defaults(0)), IsEmpty());
  EXPECT_THAT(what_if_->Places(0), Contains("aws:us-east-1"));
  EXPECT_THAT(
      what_if_->Unread(what_if_->Defaults(1)),
      ElementsAre(Pair("core_delays", _), Pair("core_rates", HasSubstr("no topology")),
                  Pair("prices", "nothing has a price in this population"), Pair("server_at", _)));
  EXPECT_THAT(what_if_->Places(1), IsEmpty());
}

TEST_F(WhatIfClientsTest, RefusesInvalidQuestions) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"group": 4})", "group: got '4'; allowed: 0 to 3"},
      {R"({"up_rates": 0})", "--up-rates: got '0'"},
      {R"({"up_rates": "2"})", "up_rates: got '\"2\"'; allowed: a number"},
      {R"({"down_rates": -1})", "--down-rates: got '-1'"},
      {R"({"down_rates": 1e300})", "--down-rates: got '1e+300'"},
      {R"({"packet_loss": 1})", "--packet-loss: got '1'; allowed: "},
      {R"({"prices": -1})", "--prices: got '-1'"},
      {R"({"core_delays": -1})", "--core-delays: got '-1'"},
      {R"({"server_at": "moon"})", "server: at: got 'moon'; allowed: a switch of the topology: "},
      {R"({"server_rate": "fast"})", "federated.server_rate: got 'fast'"},
      {R"({"streams": 0})", "streams: got '0'"},
      {R"({"connections": "modem"})", "connections: got 'modem'; allowed: warm, cold, tls"},
      {R"({"device_speed": 0})", "clock.device_speed: got '0'"},
      {R"({"fidelity": "packet"})", "network.fidelity: got 'packet'; allowed: flow, analytic"},
      {R"({"bandwidth": 1e9})",
       "question: got 'bandwidth'; allowed: of a group of federated clients: group, down_rates"},
      {R"({"group": 1, "core_rates": 2})", "--core-rates: got '2'; allowed: 1: without --topology"},
      {R"({"group": 1, "server_at": "x"})", "server: at: got 'x'; allowed: no place"},
  };
  for (const auto& [question, message] : cases) {
    EXPECT_THAT(Refusal(question), HasSubstr(message)) << question;
  }
}

TEST_F(WhatIfClientsTest, StopsWithinARound) {
  const WhatIfQuestion question = ParseQuestion(R"({"up_rates": 0.123, "seeds": [1]})");
  std::atomic<int> asked = 0;
  EXPECT_THROW(what_if_->Answer(question, kLong, [&] { return ++asked > 4; }), WhatIfStopped);
  EXPECT_LT(asked, 16) << "it asks at each transfer";
  EXPECT_THROW(what_if_->Answer(question, 0, Never), WhatIfStopped);
  EXPECT_EQ(what_if_->Answer(question, kLong, Never)->size(), 2u);
}

TEST_F(WhatIfClientsTest, OneThreadAnswersAsTwoDo) {
  WhatIf alone(ReadWhatIfStudy(study_->folder, study_->plan), 1);
  const WhatIfQuestion question = ParseQuestion(R"({"up_rates": 0.7})");
  const auto one = alone.Answer(question, kLong, Never);
  const auto two = what_if_->Answer(question, kLong, Never);
  for (size_t policy = 0; policy < 2; ++policy) {
    for (size_t seed = 0; seed < 2; ++seed) {
      EXPECT_EQ((*one)[policy].seeds[seed].curve, (*two)[policy].seeds[seed].curve);
    }
  }
}

}  // namespace
}  // namespace legacy::what_if_clients_test
