#include "scenarios/study/plan.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/parse.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/federated/learner.h"
#include "scenarios/options/built_in_methods.h"
#include "scenarios/options/methods.h"
#include "scenarios/replay/federated_replay.h"
#include "scenarios/replay/replay.h"
#include "scenarios/run/manifest.h"
#include "trainer/clock/record.h"
#include "trainer/data/data_catalog.h"

namespace legacy {
namespace {

using nlohmann::json;

// Returns the reasons why a training may not be timed on another network.
std::vector<std::string> RefusalsOf(const Scenario& scenario) {
  return scenario.federated ? CouplingsOf(scenario) : ReplayRefusals(scenario);
}

// Throws Error if the scenario of one policy is not valid.
void Validate(const Scenario& scenario) {
  if (!scenario.federated) return ValidatePoint(scenario);
  ValidateFederated(scenario);
  if (FederatedMethodsOf(scenario).size() == 1) return;
  throw Error("federated.algorithms", scenario.federated->algorithms.text(),
              "one algorithm for each point: several are an axis, algorithms: [fedavg, scaffold]");
}

// Returns the options that a training with the policy of the scenario does not read.
std::vector<std::string> UnreadBy(const Scenario& scenario) {
  const Method method = FindMethod(scenario, scenario.policies.front());
  std::vector<std::string> unread = UnreadOptions(method, scenario);
  if (!scenario.federated) return unread;
  for (std::string& key : UnreadFederatedOptions(method, scenario)) {
    unread.push_back(std::move(key));
  }
  return unread;
}

// Copies from `whole` those options that a federated training reads although its replays may change
// them: the number of its clients, more of the population if its draws read that, and whether a
// server or a collective makes versions.
void TakeWhatIsRead(const Scenario& whole, Scenario& training) {
  const PlanRequest request = RequestOf(whole, whole.seed);
  training.federated->clients = request.population.Clients();
  training.federated->exchange = whole.federated->exchange;
  if (!TrainingReadsPopulation(request)) return;
  training.federated->population = whole.federated->population;
  training.federated->at = whole.federated->at;
  training.topology = whole.topology;
}

// Removes built-in methods and methods of other policies, which are not part of a point. `whole` is
// the scenario with its network, whose nodes a method may have.
void KeepOneMethod(const Scenario& whole, Scenario& scenario) {
  const std::string& name = scenario.policies.front();
  const auto own = scenario.methods.find(name);
  std::map<std::string, Method> kept;
  if (own != scenario.methods.end()) kept.insert(*own);
  Scenario without_owners = whole;
  without_owners.sharding = "none";
  if (AsksForNodes(FindMethod(without_owners, name))) kept[name] = FindMethod(whole, name);
  scenario.methods = std::move(kept);
}

// Returns true if the point's method needs the parameter servers that the point has.
bool NeedsServers(const Scenario& scenario) {
  if (AggregatingServers(scenario) == 0) return false;
  const Method method = FindMethod(scenario, scenario.policies.front());
  return MakeScheme(SchemeText(method, scenario))->Traits().servers > 0;
}

// Sets the network that is fastest to simulate, because a recording's times are not used.
void TakeCheapestNetwork(Scenario& scenario) {
  scenario.fidelity = "analytic";
  if (scenario.federated) return;  // its topology has the places of clients
  scenario.topology = "star";
  scenario.stragglers = "none";
}

PlannedTraining PlanTraining(Scenario training) {
  PlannedTraining planned;
  json document = TrainingDocument(training);
  planned.refused = Join(RefusalsOf(training), "; ");
  if (planned.refused.empty()) {
    TakeCheapestNetwork(training);
  } else {
    const json all = ScenarioDocument(training);
    document["on"] = {{"network", all["network"]}, {"clock", all["clock"]}, {"ns3", training.ns3}};
    if (training.federated) document["on"]["federated"] = all["federated"];
  }
  planned.id = TrainingHash(document);
  training.record = planned.refused.empty() || !training.federated;
  training.pictures = false;
  training.verbose = false;
  training.tensorboard = false;
  planned.scenario = std::move(training);
  return planned;
}

// Returns the point's own network and clock, with its training's other options.
Scenario PointScenario(const Scenario& whole, const Scenario& training) {
  Scenario point = training;
  for (const ScenarioOption& option : OptionsOf(whole)) {
    if (!option.Has(kMayReplay) || option.Has(kLeavesResults)) continue;
    option.set(point, option.key, option.get(whole));
  }
  point.ns3 = whole.ns3;
  return point;
}

// Sets the metrics and the target of the plan from its first point that trains. Throws Error if
// another point has other metrics, or a target for another metric.
void TakeMetrics(const Scenario& point, StudyPlan& plan) {
  const std::span<const Metric> metrics = MetricsOf(point);
  const std::optional<Target> target = TargetOf(point);
  if (metrics.empty()) return;
  if (plan.metrics.empty()) {
    plan.metrics.assign(metrics.begin(), metrics.end());
    plan.target = target;
  } else if (!std::ranges::equal(plan.metrics, metrics)) {
    throw Error(
        "training.dataset", point.dataset,
        "data sets of one task: the points before have the metric " + plan.metrics.front().title);
  } else if (target.has_value() != plan.target.has_value() ||
             (target && target->metric != plan.target->metric)) {
    throw Error("training.target", point.target.text(),
                plan.target
                    ? "targets of one metric: the points before have one of " + plan.target->metric
                    : "none, as the points before have none");
  }
}

}  // namespace

Scenario OnNetworkOf(const Scenario& point, Scenario recorded) {
  for (const ScenarioOption& option : OptionsOf(point)) {
    if (!option.Has(kMayReplay) || option.key.starts_with("run.")) continue;
    option.set(recorded, option.key, option.get(point));
  }
  return recorded;
}

void CheckData(const PlannedTraining& training) {
  const Scenario& scenario = training.scenario;
  if (!scenario.layers.empty()) return;
  CheckIsHere(FindInCatalog(scenario.dataset), DataRoot(scenario.data_root));
}

Scenario TrainingOf(const Scenario& scenario) {
  const std::vector<std::string> unread = UnreadBy(scenario);
  const bool replayed = RefusalsOf(scenario).empty();
  const Scenario defaults = scenario.federated ? FederatedDefaults() : Scenario();
  Scenario training = scenario;
  for (const ScenarioOption& option : OptionsOf(scenario)) {
    const bool read = !option.Has(kLeavesResults) && option.key != "training.target" &&
                      std::ranges::find(unread, option.key) == unread.end();
    if (read && !(replayed && option.Has(kMayReplay))) continue;
    option.set(training, option.key, option.get(defaults));
  }
  if (replayed) training.ns3.clear();
  if (replayed && scenario.federated) TakeWhatIsRead(scenario, training);
  if (NeedsServers(scenario)) {
    training.aggregation = scenario.aggregation;
    training.servers = scenario.servers;
  }
  if (SendsToOwners(FindMethod(scenario, scenario.policies.front()), scenario)) {
    training.sharding = scenario.sharding;
    training.rules = scenario.rules;
  }
  KeepOneMethod(scenario, training);
  return training;
}

StudyPlan PlanStudy(StudyDefinition definition) {
  StudyPlan plan;
  std::map<std::string, size_t> known;  // position of each training, by its id
  for (const StudyDefinition::Combination& combination : definition.points) {
    const Scenario whole = ScenarioOf(definition, combination);
    try {
      Validate(whole);
      TakeMetrics(whole, plan);
    } catch (const Error& error) {
      throw PointError(definition, plan.points.size(), error);
    }
    Scenario training = TrainingOf(whole);
    PlannedPoint point;
    point.scenario = PointScenario(whole, training);
    PlannedTraining planned = PlanTraining(std::move(training));
    point.training = known.emplace(planned.id, plan.trainings.size()).first->second;
    if (point.training == plan.trainings.size()) plan.trainings.push_back(std::move(planned));
    plan.trainings[point.training].points.push_back(plan.points.size());
    plan.points.push_back(std::move(point));
  }
  plan.definition = std::move(definition);
  return plan;
}

analysis::StudyPoint EmptyPoint(const StudyPlan& plan, size_t id) {
  const StudyDefinition& definition = plan.definition;
  const StudyDefinition::Combination& combination = definition.points.at(id);
  analysis::StudyPoint point;
  point.id = static_cast<int64_t>(id);
  point.policy = combination.policy;
  point.seed = combination.seed;
  for (size_t a = 0; a < definition.axes.size(); ++a) {
    point.values.push_back(definition.axes[a].axis.values[combination.values[a]]);
  }
  point.training = plan.trainings[plan.points[id].training].id;
  return point;
}

analysis::Study EmptyStudy(const StudyPlan& plan) {
  const StudyDefinition& definition = plan.definition;
  analysis::Study study;
  study.name = definition.name;
  study.title = definition.title;
  study.definition = definition.text;
  study.baseline = definition.baseline;
  study.metrics = plan.metrics;
  study.target = plan.target;
  study.policies = definition.scenario.policies;
  for (int s = 0; s < definition.scenario.seeds; ++s) {
    study.seeds.push_back(definition.scenario.seed + static_cast<uint64_t>(s));
  }
  for (const GridAxis& axis : definition.axes) study.axes.push_back(axis.axis);
  for (const PlannedTraining& planned : plan.trainings) {
    analysis::StudyTraining training;
    training.id = planned.id;
    training.policy = planned.scenario.policies.front();
    training.seed = planned.scenario.seed;
    training.replay_refused = planned.refused;
    training.configuration = ScenarioDocument(planned.scenario).dump();
    study.trainings.push_back(std::move(training));
  }
  for (size_t p = 0; p < plan.points.size(); ++p) study.points.push_back(EmptyPoint(plan, p));
  return study;
}

}  // namespace legacy
