#include "scenarios/study/what_if/closed_forms.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/summary.h"
#include "base/error.h"
#include "ns3-module/fabric/step/straggler.h"
#include "scenarios/replay/replay_source.h"
#include "scenarios/run/recording.h"
#include "scenarios/run/scenario_timing.h"
#include "scenarios/study/what_if/json.h"

namespace legacy {
namespace {

using fabric::CollectiveAlgorithm;
using fabric::CollectiveSpec;
using nlohmann::json;

// Thrown if a training has no closed form in the page.
struct NoClosedForm {
  std::string reason;
};

// Returns why the stragglers of a group are not those that a question can state; "" if they are.
std::string StragglersRefused(const Scenario& scenario, const WhatIfQuestion& own) {
  const auto model = fabric::MakeStragglers(scenario.stragglers);
  const auto slow = static_cast<size_t>(own.slow_workers.value_or(0));
  std::vector<double> expected(static_cast<size_t>(scenario.workers), 1);
  std::fill(expected.end() - static_cast<std::ptrdiff_t>(slow), expected.end(),
            own.slowdown.value_or(1));
  if (!model->Transient() && model->Factors(scenario.workers, scenario.seed, 0) == expected) {
    return "";
  }
  return "its stragglers are not the last workers with one slow-down";
}

// Returns why the transport has no closed form; "" if it has one.
std::string TransportRefused(const fabric::Transport& transport) {
  if (transport.streams > 1) return "messages are shared by several streams";
  if (transport.queuePairs > 1) return "messages take queue pairs in turn";
  if (transport.utilisation < 1) return "HPCC fills a part of a link";
  return "";
}

// Returns whether all endpoints have a single link, with the scenario's rate and delay, to one
// switch.
bool IsOneSwitch(const Scenario& scenario, const Network& network) {
  const fabric::Topology& topology = network.topology;
  std::set<int> switches;
  for (int endpoint = 0; endpoint < network.placement.Endpoints(); ++endpoint) {
    const int node = network.placement.NodeOf(endpoint);
    if (!topology.IsHost(node) || topology.Out(node).size() != 1) return false;
    const fabric::DirectedLink link = topology.Out(node).front();
    switches.insert(topology.To(link));
    const fabric::Link& both = topology.LinkOf(link);
    const auto equal = [&](const fabric::Port& port) {
      return port.rateBps == *scenario.bandwidth && !port.schedule;
    };
    if (both.delay != *scenario.delay || !std::ranges::all_of(both.ports, equal)) return false;
  }
  return switches.size() == 1 && !topology.IsHost(*switches.begin());
}

std::string NetworkRefused(const Scenario& scenario, const Network& network) {
  if (!scenario.network_schedule->empty()) return "its network changes during the training";
  if (!IsOneSwitch(scenario, network)) {
    return "the topology " + scenario.topology + " is not one switch with equal links";
  }
  if (network.background) return "its network has background traffic";
  const bool choice = !*scenario.allreduce || !*scenario.allgather || !*scenario.protocol;
  if (*scenario.aggregation == Transfer::kPeers && choice) {
    return "its algorithms are chosen by the network";
  }
  return TransportRefused(network.request.transport);
}

// Returns the name of a call's algorithm, which must be one of those that the page knows.
const char* KnownAlgorithm(const CollectiveSpec& spec) {
  using enum CollectiveAlgorithm;
  constexpr CollectiveAlgorithm kKnown[] = {
      RingAllReduce,   RingAllGather, HalvingDoublingAllReduce, DirectAllReduce, DirectAllGather,
      ParameterServer, Broadcast};
  const bool one = spec.channels == 1 && spec.protocol == fabric::Protocol::None;
  if (one && std::ranges::find(kKnown, spec.algorithm) != std::end(kKnown)) {
    return fabric::ToString(spec.algorithm);
  }
  throw NoClosedForm{std::string(fabric::ToString(spec.algorithm)) +
                     (one ? "" : " of several channels, or with a protocol,") +
                     " is not among the page's algorithms"};
}

// Returns the bytes of a call's messages: a single number if one suffices.
json SizesOf(const CollectiveSpec& spec) {
  if (spec.algorithm == CollectiveAlgorithm::Broadcast) return spec.bytes[spec.root];
  const bool equal = std::ranges::count(spec.bytes, spec.bytes.front()) == std::ssize(spec.bytes);
  return equal ? json(spec.bytes.front()) : json(spec.bytes);
}

json FramingOf(const fabric::Transport& transport) {
  constexpr int kSwitches = 1;
  return {{"segment", transport.segmentBytes},
          {"header", transport.FrameBytes(kSwitches) - transport.segmentBytes},
          {"message", transport.messageBytes},
          {"padding", transport.paddingBytes},
          {"ack", transport.AckBytes(kSwitches)},
          {"segments_per_ack", transport.segmentsPerAck},
          {"switch_delay", transport.switchDelay}};
}

// Returns the endpoints' nodes, numbered from 0 on.
json NodesOf(const fabric::Placement& placement) {
  std::map<int, size_t> numbers;
  json nodes = json::array();
  for (int endpoint = 0; endpoint < placement.Endpoints(); ++endpoint) {
    const int node = placement.NodeOf(endpoint);
    nodes.push_back(numbers.try_emplace(node, numbers.size()).first->second);
  }
  return nodes;
}

// Items keeps each JSON value once.
class Items {
 public:
  size_t Add(const json& item) {
    const auto [place, added] = positions_.try_emplace(item.dump(), items_.size());
    if (added) items_.push_back(item);
    return place->second;
  }
  const json& all() const { return items_; }

 private:
  std::map<std::string, size_t> positions_;
  json items_ = json::array();
};

// A PlanWriter makes the plan of a group.
class PlanWriter {
 public:
  // Throws NoClosedForm if the group's network has no closed form.
  PlanWriter(const WhatIf& what_if, size_t group, const analysis::Study& study)
      : what_if_(&what_if), study_(&study), metric_(analysis::ShownMetric(study)) {
    const WhatIfGroup& asked = what_if.study().groups[group];
    if (asked.OfClients()) throw NoClosedForm{"federated clients have lines of their own"};
    own_ = what_if.Defaults(group);
    for (const auto& [key, reason] : what_if.Unread(own_)) throw NoClosedForm{reason};
    question_.group = group;
    question_.fidelity = NameOf(Fidelity::kAnalytic);
    question_.device_speed = question_.codec_speed = 1;
    const Scenario scenario = ScenarioOf(asked.trainings.front());
    const ScenarioNetwork network = BuildScenarioNetwork(scenario, scenario.seed);
    std::string refused = NetworkRefused(scenario, *network.network);
    if (refused.empty()) refused = StragglersRefused(scenario, own_);
    if (!refused.empty()) throw NoClosedForm{refused};
    plan_ = {{"workers", scenario.workers},
             {"nodes", NodesOf(network.network->placement)},
             {"framing", FramingOf(network.network->request.transport)},
             {"own",
              {{"bandwidth", *scenario.bandwidth},
               {"delay", InSeconds(*scenario.delay)},
               {"slow_workers", own_.slow_workers.value_or(0)},
               {"slowdown", own_.slowdown.value_or(1)},
               {"device_speed", own_.device_speed.value_or(1)},
               {"codec_speed", own_.codec_speed.value_or(1)}}},
             {"trainings", json::array()}};
  }

  // Adds a training. Throws NoClosedForm if it has no closed form.
  void Add(const WhatIfTraining& training) {
    const Scenario scenario = ScenarioOf(training);
    if (scenario.clip_mean > 0) throw NoClosedForm{"it clips the mean gradient"};
    if (HasSixteenBits(*scenario.precision)) throw NoClosedForm{"it rounds weights to 16 bits"};
    const Recording& recording = *what_if_->study().recordings[training.recording]->Workers();
    const std::string& policy = scenario.policies.front();
    const RecordedTraining& recorded = recording.record.Training(policy, scenario.seed);
    json added = {{"policy", policy},
                  {"seed", std::to_string(scenario.seed)},
                  {"steps", StepsOf(recorded, recording.record, scenario)}};
    AddEvaluations(recording.run, policy, scenario.seed, added);
    plan_["trainings"].push_back(std::move(added));
  }

  json Plan() const {
    json plan = plan_;
    plan["templates"] = templates_.all();
    plan["seconds"] = seconds_.all();
    plan["steps"] = steps_.all();
    return plan;
  }

 private:
  Scenario ScenarioOf(const WhatIfTraining& training) const {
    return what_if_->ScenarioOf(training, question_);
  }

  // Returns the steps of a training as pairs: the number of a step, and how many in a row are equal
  // to it.
  json StepsOf(const RecordedTraining& training, const Record& record, const Scenario& scenario) {
    const ScenarioTiming timing(scenario);
    const Clock clock = timing.MakeClocks(record.operations, record.layers).front();
    const StepStart start = timing.StartOf(clock, scenario.seed, 0);
    std::map<size_t, size_t> number_of;  // numbers of steps by those of their works
    json runs = json::array();
    for (const size_t work : training.works) {
      const auto [number, fresh] = number_of.try_emplace(work);
      if (fresh) number->second = AddStep(clock, record.works[work], timing, start);
      if (!runs.empty() && runs.back()[0] == number->second) {
        runs.back()[1] = runs.back()[1].get<int64_t>() + 1;
      } else {
        runs.push_back({number->second, 1});
      }
    }
    return runs;
  }

  size_t AddStep(const StepClock& clock, const StepWork& work, const ScenarioTiming& timing,
                 const StepStart& start) {
    if (!work.active_workers.empty()) throw NoClosedForm{"not all workers are active"};
    const PricedStep priced = timing.Price(clock, work, start);
    if (priced.traffic.sharded) throw NoClosedForm{"its weights are sharded"};
    const StepSeconds seconds = clock.SecondsOf(work).front();
    json buckets = json::array(), sizes = json::array();
    for (size_t b = 0; b < seconds.buckets.size(); ++b) {
      const StepSeconds::Bucket& bucket = seconds.buckets[b];
      json calls = json::array();
      for (size_t r = 0; r < bucket.encode.size(); ++r) {
        const CollectiveSpec& spec = priced.traffic.buckets[b].calls[r].collective;
        if (spec.serve > 0) throw NoClosedForm{"a server compresses"};
        json call = {{"algorithm", KnownAlgorithm(spec)}};
        sizes.push_back(SizesOf(spec));
        sizes.push_back(seconds_.Add(bucket.encode[r]));
        sizes.push_back(seconds_.Add(bucket.decode[r]));
        if (spec.algorithm == CollectiveAlgorithm::Broadcast) call["root"] = spec.root;
        if (spec.algorithm == CollectiveAlgorithm::ParameterServer) {
          call["pulls"] = true;
          sizes.push_back(spec.pullBytes);
        }
        calls.push_back(std::move(call));
      }
      buckets.push_back({{"compute", bucket.compute}, {"calls", std::move(calls)}});
    }
    json step = {templates_.Add({{"before", seconds.before},
                                 {"whole", seconds.whole ? json(*seconds.whole) : json()},
                                 {"after", seconds.after},
                                 {"buckets", std::move(buckets)}})};
    for (json& size : sizes) step.push_back(std::move(size));
    return steps_.Add(step);
  }

  void AddEvaluations(const analysis::RunDirectory& run, const std::string& policy, uint64_t seed,
                      json& training) const {
    const size_t position = MetricPosition(run.manifest.metrics, metric_.name);
    std::vector<int64_t> steps;
    std::vector<double> values;
    for (const analysis::EvaluationRow& row : run.evaluations) {
      if (row.policy != policy || row.seed != seed) continue;
      steps.push_back(row.step);
      values.push_back(row.metrics.at(position));
    }
    training["evaluated"] = steps;
    training["values"] = values;
    const auto reached = study_->target
                             ? analysis::TargetReached(metric_, study_->target->value, values)
                             : std::nullopt;
    training["reached"] = reached ? json(*reached) : json();
  }

  const WhatIf* what_if_;
  const analysis::Study* study_;
  Metric metric_;
  WhatIfQuestion question_;  // for the device times at speed 1
  WhatIfQuestion own_;
  json plan_;
  Items templates_;
  Items seconds_;
  Items steps_;
};

// The part of the page about one group.
struct PagePart {
  json plan;                                                  // null: the group has no closed form
  std::map<std::string, std::vector<std::string>> refused{};  // policies by the reason
};

// Returns the part of the page about the group, with at most `most` characters.
PagePart PartOf(const WhatIf& what_if, size_t group, const analysis::Study& study, size_t most) {
  const std::vector<WhatIfTraining>& trainings = what_if.study().groups[group].trainings;
  PagePart part;
  std::vector<std::string> policies;
  for (const WhatIfTraining& training : trainings) {
    const std::string& policy = training.scenario.policies.front();
    if (policies.empty() || policies.back() != policy) policies.push_back(policy);
  }
  try {
    PlanWriter writer(what_if, group, study);
    for (const std::string& policy : policies) {
      PlanWriter with = writer;
      try {
        for (const WhatIfTraining& training : trainings) {
          if (training.scenario.policies.front() == policy) with.Add(training);
        }
        json plan = with.Plan();
        if (plan.dump().size() > most) {
          throw NoClosedForm{"its steps take too much room in the page"};
        }
        part.plan = std::move(plan);
        writer = std::move(with);
      } catch (const NoClosedForm& no) {
        part.refused[no.reason].push_back(policy);
      }
    }
  } catch (const NoClosedForm& no) {
    part.refused[no.reason] = policies;
  } catch (const Error& error) {
    part.refused[error.what()] = policies;
  }
  return part;
}

}  // namespace

json ClosedForms(const WhatIf& what_if, const analysis::Study& study, size_t most) {
  const json document = GroupsDocument(what_if);
  json groups = json::array(), refused = json::array();
  for (const json& group : document.at("groups")) {
    PagePart part = PartOf(what_if, group.at("id").get<size_t>(), study, most);
    for (const auto& [reason, policies] : part.refused) {
      refused.push_back({{"label", group.at("label")}, {"policies", policies}, {"reason", reason}});
    }
    if (part.plan.is_null()) continue;
    most -= part.plan.dump().size();
    json covered = group;
    covered["defaults"]["fidelity"] = NameOf(Fidelity::kAnalytic);
    covered["plan"] = std::move(part.plan);
    groups.push_back(std::move(covered));
  }
  for (json one : document.at("refused")) {
    one["group"] = nullptr;  // the page plans no rounds
    refused.push_back(std::move(one));
  }
  return {{"groups", std::move(groups)}, {"refused", std::move(refused)}};
}

}  // namespace legacy
