#include "scenarios/study/what_if.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/number.h"
#include "base/parse.h"
#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/step/straggler.h"
#include "ns3-module/fabric/topology/report.h"
#include "scenarios/run/replay.h"
#include "scenarios/run/scenario_network.h"

namespace legacy {
namespace {

constexpr int kMostThreads = 2;
constexpr size_t kMostMemoised = 64;
constexpr fabric::TimeNs kLongestDelay = 1'000'000'000'000;

int Threads(int wanted) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return wanted > 0 ? wanted : std::min(cores, kMostThreads);
}

template <class Value>
bool Contains(const std::vector<Value>& values, const Value& value) {
  return std::ranges::find(values, value) != values.end();
}

// Returns the fidelity of answers. Packets would take minutes, and ns-3 has one simulator for each
// process.
std::string DefaultFidelity(const Scenario& scenario) {
  return NameOf(*scenario.fidelity == Fidelity::kAnalytic ? Fidelity::kAnalytic : Fidelity::kFlow);
}

ParsedFidelity FidelityWithoutPackets(const std::string& text) {
  const ParsedFidelity fidelity(text, "network.fidelity");
  if (*fidelity == Fidelity::kFlow || *fidelity == Fidelity::kAnalytic) return fidelity;
  throw Error("network.fidelity", text,
              "flow, analytic: packets take too long to wait for (legacy-replay simulates them)");
}

// Throws Error where the text names a file that the study does not have, which this program would
// otherwise read for any client.
void CheckTopology(const std::string& text, const std::set<std::string>& known) {
  if (known.contains(text)) return;
  std::vector<std::string> types;
  for (const fabric::TopologyType& type : fabric::TopologyTypes()) types.push_back(type.name);
  const bool type = Contains(types, text.substr(0, text.find(':')));
  if (type && !fabric::NamesTopologyFile(text)) return;
  const std::vector<std::string> texts(known.begin(), known.end());
  throw Error("network.topology", text,
              "a type with its parameters (" + Join(types, ", ") +
                  "), or one that the study has: " + Join(texts, ", "));
}

struct SlowWorkers {
  int64_t count = 0;
  double factor = 1;
};

// Returns the slow workers of an answer. What the question leaves out is as in the study. Where no
// worker is slow in the study, a slowdown without a number means one worker, and a number without a
// slowdown is refused.
SlowWorkers SlowWorkersFor(const WhatIfQuestion& question, const SlowWorkers& now) {
  if (now.count > 0) {
    return {question.slow_workers.value_or(now.count), question.slowdown.value_or(now.factor)};
  }
  if (question.slow_workers.value_or(0) > 0 && !question.slowdown) {
    throw Error("slow_workers", std::to_string(*question.slow_workers),
                "together with slowdown, as the study has no slow workers");
  }
  return {question.slow_workers.value_or(1), question.slowdown.value_or(1)};
}

// Returns the slow workers in a text of fixed stragglers; none for any other text.
SlowWorkers SlowWorkersOf(const Scenario& scenario) {
  const auto model = fabric::MakeStragglers(scenario.stragglers);
  if (model->Transient()) return {};
  const std::vector<double> factors = model->Factors(scenario.workers, scenario.seed, 0);
  const double factor = factors.back();
  const auto others =
      std::find_if(factors.rbegin(), factors.rend(), [&](double other) { return other != factor; });
  if (factor == 1 || !std::all_of(others, factors.rend(), [](double f) { return f == 1; })) {
    return {};
  }
  return {others - factors.rbegin(), factor};
}

std::string StragglerText(const SlowWorkers& slow) {
  if (slow.count == 0 || slow.factor == 1) return "none";
  return "fixed:count=" + std::to_string(slow.count) + ",factor=" + FormatNumber(slow.factor);
}

// A Limit throws the reason where an answer must end early.
class Limit {
 public:
  Limit(double seconds, const std::function<bool()>& stopped)
      : seconds_(seconds), stopped_(stopped), end_(Clock::now() + Duration(seconds)) {}

  bool Over() const { return stopped_() || Clock::now() >= end_; }
  void Check() const {
    if (stopped_()) throw WhatIfStopped("stopped");
    if (Clock::now() < end_) return;
    throw WhatIfStopped("no answer within " + FormatNumber(seconds_) +
                        " s: ask for a smaller network, fewer policies or seeds, or the fidelity " +
                        "analytic; legacy-replay has no limit");
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
  WhatIfSeed seed{
      summary.seed, summary.time_to_target, summary.simulated_seconds, summary.step, {}};
  for (const analysis::EvaluationRow& row : run.evaluations) {
    seed.curve.emplace_back(row.simulated_seconds, row.metrics.at(position));
  }
  return seed;
}

}  // namespace

WhatIf::WhatIf(WhatIfStudy study, int threads) : study_(std::move(study)), pool_(Threads(threads)) {
  if (study_.groups.empty()) throw Error("what-if: there is no recorded training to ask about");
}

const WhatIfGroup& WhatIf::GroupOf(size_t group) const {
  if (group < study_.groups.size()) return study_.groups[group];
  throw Error("group", std::to_string(group), "0 to " + std::to_string(study_.groups.size() - 1));
}

WhatIfQuestion WhatIf::Defaults(size_t group) const {
  const Scenario& scenario = GroupOf(group).trainings.front().scenario;
  const SlowWorkers slow = SlowWorkersOf(scenario);
  WhatIfQuestion question;
  question.group = group;
  question.bandwidth = scenario.bandwidth.text();
  question.delay = scenario.delay.text();
  question.topology = scenario.topology;
  question.fidelity = DefaultFidelity(scenario);
  question.slowdown = slow.factor;
  question.slow_workers = slow.count;
  question.device_speed = scenario.device_speed;
  question.codec_speed = scenario.codec_speed;
  return question;
}

// Sets rate, delay and topology. Another rate or delay removes the network schedule, whose entries
// would override it.
void WhatIf::SetNetwork(const WhatIfQuestion& question, Scenario& scenario) const {
  const auto before = std::pair(*scenario.bandwidth, *scenario.delay);
  if (question.bandwidth) SetOption(scenario, "network.bandwidth", *question.bandwidth);
  if (question.delay) SetOption(scenario, "network.delay", *question.delay);
  if (*scenario.delay > kLongestDelay) {
    throw Error("network.delay", scenario.delay.text(), "at most 1000 s");
  }
  if (std::pair(*scenario.bandwidth, *scenario.delay) != before)
    SetOption(scenario, "network.phases", "none");
  if (question.topology) {
    CheckTopology(*question.topology, study_.topologies);
    SetOption(scenario, "network.topology", *question.topology);
  }
}

Scenario WhatIf::ScenarioOf(const WhatIfTraining& training, const WhatIfQuestion& question) const {
  Scenario scenario = training.scenario;
  SetNetwork(question, scenario);
  scenario.fidelity = FidelityWithoutPackets(question.fidelity.value_or(DefaultFidelity(scenario)));
  if (question.slowdown || question.slow_workers) {
    const SlowWorkers slow = SlowWorkersFor(question, SlowWorkersOf(scenario));
    SetOption(scenario, "network.stragglers", StragglerText(slow));
  }
  const auto speed = [&](const std::string& key, const std::optional<double>& factor) {
    if (factor) SetOption(scenario, key, FormatNumber(*factor));
  };
  speed("clock.device_speed", question.device_speed);
  speed("clock.codec_speed", question.codec_speed);
  ValidateScenario(scenario);
  return scenario;
}

std::vector<std::string> WhatIf::Unread(const WhatIfQuestion& question) const {
  const Scenario scenario = ScenarioOf(GroupOf(question.group).trainings.front(), question);
  std::vector<std::string> unread;
  for (const char* key : {"bandwidth", "delay"}) {
    if (!fabric::NamesTopologyFile(scenario.topology)) continue;
    if (!ReadsLinkOption(scenario, std::string("network.") + key)) unread.emplace_back(key);
  }
  return unread;
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
    const analysis::RunDirectory run = ReplayRows(*study_.recordings[chosen[i]->recording],
                                                  scenario, [&] { return limit.Over(); });
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
