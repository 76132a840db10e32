#include "scenarios/study/what_if/what_if.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "analysis/federated/round_figures.h"
#include "base/error.h"
#include "base/number.h"
#include "base/parse.h"
#include "scenarios/replay/replay_source.h"
#include "scenarios/study/what_if/kinds.h"
#include "scenarios/study/what_if/plan_answer.h"

namespace legacy {
namespace {

constexpr int kMostThreads = 2;
constexpr size_t kMostMemoised = 64;

int Threads(int wanted) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return wanted > 0 ? wanted : std::min(cores, kMostThreads);
}

template <class Value>
bool Contains(const std::vector<Value>& values, const Value& value) {
  return std::ranges::find(values, value) != values.end();
}

// Returns the fidelity of answers. Packet fidelity would take minutes, and ns-3 allows only one
// simulator in each process.
std::string DefaultFidelity(const Scenario& scenario) {
  return NameOf(*scenario.fidelity == Fidelity::kAnalytic ? Fidelity::kAnalytic : Fidelity::kFlow);
}

ParsedFidelity FidelityWithoutPackets(const std::string& text) {
  const ParsedFidelity fidelity(text, "network.fidelity");
  if (*fidelity == Fidelity::kFlow || *fidelity == Fidelity::kAnalytic) return fidelity;
  throw Error("network.fidelity", text,
              "flow, analytic: packets take too long to wait for (replays by programs have them)");
}

// If an answer must end early, a Limit throws the reason.
class Limit {
 public:
  Limit(double seconds, const std::function<bool()>& stopped)
      : seconds_(seconds), stopped_(stopped), end_(Clock::now() + Duration(seconds)) {}

  bool Over() const { return stopped_() || Clock::now() >= end_; }
  void Check() const {
    if (stopped_()) throw WhatIfStopped("stopped");
    if (Clock::now() < end_) return;
    throw WhatIfStopped("no answer within " + FormatNumber(seconds_) +
                        " s: ask for a smaller network, fewer methods or seeds, or the fidelity " +
                        "analytic; a replay by a program has no limit");
  }

 private:
  using Clock = std::chrono::steady_clock;
  static Clock::duration Duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  double seconds_;
  const std::function<bool()>& stopped_;
  Clock::time_point end_;
};

// Returns the result of the run's only policy and seed.
WhatIfSeed SeedOf(const analysis::RunDirectory& run) {
  const analysis::Summary all = analysis::Summarise(run);
  const analysis::SeedSummary& summary = all.policies.front().seeds.front();
  const size_t position = MetricPosition(run.manifest.metrics, all.metric.name);
  WhatIfSeed seed;
  seed.seed = summary.seed;
  seed.time_to_target = summary.time_to_target;
  seed.simulated_seconds = summary.simulated_seconds;
  seed.step = summary.step;
  if (!run.rounds.empty()) {
    seed.round = RoundOf(analysis::FiguresOf(run.rounds), seed.step.total);
    seed.round->usd_to_target = summary.usd_to_target;
  }
  for (const analysis::EvaluationRow& row : run.evaluations) {
    seed.curve.emplace_back(row.simulated_seconds, row.metrics.at(position));
  }
  return seed;
}

}  // namespace

WhatIf::WhatIf(WhatIfStudy study, int threads)
    : study_(std::move(study)), pool_(Threads(threads)) {}

const WhatIfGroup& WhatIf::GroupOf(size_t group) const {
  if (group < study_.groups.size()) return study_.groups[group];
  throw Error("group", std::to_string(group),
              study_.groups.empty() ? "none: no training may be asked about"
                                    : "0 to " + std::to_string(study_.groups.size() - 1));
}

WhatIfQuestion WhatIf::Defaults(size_t group) const {
  const WhatIfGroup& asked = GroupOf(group);
  const Scenario& scenario = asked.trainings.front().scenario;
  WhatIfQuestion question;
  question.group = group;
  question.fidelity = DefaultFidelity(scenario);
  question.device_speed = scenario.device_speed;
  question.codec_speed = scenario.codec_speed;
  if (asked.OfClients()) {
    AddDefaultsOfClients(scenario, question);
  } else {
    AddDefaultsOfWorkers(scenario, question);
  }
  return question;
}

Scenario WhatIf::ScenarioOf(const WhatIfTraining& training, const WhatIfQuestion& question) const {
  Scenario scenario = training.scenario;
  const bool clients = scenario.federated.has_value();
  CheckKind(question, clients);
  if (clients) {
    ApplyToClients(question, scenario);
  } else {
    ApplyToWorkers(question, study_.topologies, scenario);
  }
  scenario.fidelity = FidelityWithoutPackets(question.fidelity.value_or(DefaultFidelity(scenario)));
  const auto speed = [&](const std::string& key, const std::optional<double>& factor) {
    if (factor) SetOption(scenario, key, FormatNumber(*factor));
  };
  speed("clock.device_speed", question.device_speed);
  speed("clock.codec_speed", question.codec_speed);
  if (!clients) ValidateScenario(scenario);
  return scenario;
}

std::map<std::string, std::string> WhatIf::Unread(const WhatIfQuestion& question) const {
  const WhatIfGroup& group = GroupOf(question.group);
  const Scenario scenario = ScenarioOf(group.trainings.front(), question);
  if (!group.OfClients()) return UnreadByWorkers(scenario);
  std::map<std::string, std::string> unread = UnreadByClients(scenario);
  if (group.Planned()) unread["codec_speed"] = "the work of a planned task is one time";
  return unread;
}

std::vector<std::string> WhatIf::Places(size_t group) const {
  const WhatIfGroup& asked = GroupOf(group);
  if (!asked.OfClients()) return {};
  return PlacesOfServer(asked.trainings.front().scenario);
}

std::vector<const WhatIfTraining*> WhatIf::Chosen(const WhatIfQuestion& question) const {
  for (const std::string& policy : question.policies) {
    if (Contains(study_.policies, policy)) continue;
    throw Error("policies", policy, Join(study_.policies, ", "));
  }
  for (const uint64_t seed : question.seeds) {
    if (Contains(study_.seeds, seed)) continue;
    std::vector<std::string> seeds;
    for (const uint64_t known : study_.seeds) seeds.push_back(std::to_string(known));
    throw Error("seeds", std::to_string(seed), Join(seeds, ", "));
  }
  std::vector<const WhatIfTraining*> chosen;
  for (const WhatIfTraining& training : GroupOf(question.group).trainings) {
    const Scenario& scenario = training.scenario;
    if (!question.policies.empty() && !Contains(question.policies, scenario.policies.front())) {
      continue;
    }
    if (!question.seeds.empty() && !Contains(question.seeds, scenario.seed)) continue;
    chosen.push_back(&training);
  }
  return chosen;
}

std::shared_ptr<const WhatIfAnswer> WhatIf::Answer(const WhatIfQuestion& question,
                                                   double limit_seconds,
                                                   const std::function<bool()>& stopped) {
  const std::vector<const WhatIfTraining*> chosen = Chosen(question);
  const std::unique_lock turn(turn_, std::chrono::duration<double>(limit_seconds));
  if (!turn) throw WhatIfStopped("busy: other questions come first");
  const auto known = std::ranges::find(memoised_, question, &Memoised::first);
  if (known != memoised_.end()) return known->second;

  const Limit limit(limit_seconds, stopped);
  std::vector<WhatIfSeed> seeds(chosen.size());
  pool_.ForEach(std::ssize(chosen), [&](int64_t i, int) {
    const Scenario scenario = ScenarioOf(*chosen[i], question);
    limit.Check();
    if (chosen[i]->planned) {
      seeds[i] = PlanAnswer(*chosen[i], scenario, [&] { limit.Check(); });
      return;
    }
    const analysis::RunDirectory run =
        study_.recordings[chosen[i]->recording]->Rows(scenario, [&] { return limit.Over(); });
    limit.Check();
    seeds[i] = SeedOf(run);
  });
  auto answer = std::make_shared<WhatIfAnswer>();
  for (size_t i = 0; i < chosen.size(); ++i) {
    const std::string& policy = chosen[i]->scenario.policies.front();
    if (answer->empty() || answer->back().policy != policy) answer->push_back({policy, {}});
    answer->back().seeds.push_back(std::move(seeds[i]));
  }
  memoised_.emplace_front(question, answer);
  if (memoised_.size() > kMostMemoised) memoised_.pop_back();
  return answer;
}

}  // namespace legacy
