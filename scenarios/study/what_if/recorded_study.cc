#include "scenarios/study/what_if/recorded_study.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "analysis/run_directory.h"
#include "scenarios/federated/learner.h"
#include "scenarios/replay/replay_source.h"
#include "scenarios/study/shell.h"
#include "scenarios/study/what_if/plan_answer.h"
#include "scenarios/study/work.h"

namespace legacy {
namespace {

// Returns the positions of the axes on which a training depends.
std::vector<size_t> TrainingAxes(const StudyDefinition& definition) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < definition.axes.size(); ++i) {
    const bool shapes = std::ranges::any_of(definition.axes[i].settings, [&](const auto& settings) {
      return std::ranges::any_of(settings, [&](const auto& setting) {
        const ScenarioOption* option =
            FindOption(OptionsOf(definition.scenario), setting.first, OptionNames::kKeys);
        return option == nullptr || !option->Has(kMayReplay);
      });
    });
    if (shapes) axes.push_back(i);
  }
  return axes;
}

// Returns the number of workers or clients that a training has.
std::string SizeOf(const Scenario& training) {
  if (!training.federated) return std::to_string(training.workers) + " workers";
  const int64_t clients = RequestOf(training, training.seed).population.Clients();
  return std::to_string(clients) + " clients";
}

// Returns a description of a training without its policy and seed: its size, and its values on
// those axes.
std::string LabelOf(const StudyDefinition& definition, const std::vector<size_t>& axes,
                    const StudyDefinition::Combination& point, const std::string& size) {
  std::string label = size;
  for (const size_t i : axes) {
    const analysis::StudyAxis& axis = definition.axes[i].axis;
    if (axis.name == "workers" || axis.name == "clients") continue;
    std::string name = axis.name;
    std::ranges::replace(name, '_', ' ');
    label += ", " + name + " " + axis.values[point.values[i]];
  }
  return label;
}

// Returns why a training cannot be asked about; "" if its record can be replayed and, if it is
// federated, it has a server.
std::string RefusalOf(const PlannedTraining& training) {
  const Scenario& scenario = training.scenario;
  if (!training.refused.empty() || !scenario.federated || HasServer(scenario)) {
    return training.refused;
  }
  return "federated.exchange: its clients exchange by " + scenario.federated->exchange.text() +
         ", without the server that questions are about";
}

// Returns the command line that gives the times of such a training: it trains the scenario, or
// replays the record in that folder. "" if the scenario has methods of its own, which no command
// line names.
std::string CommandFor(const Scenario& scenario, const std::filesystem::path& directory) {
  if (scenario.federated && !HasServer(scenario)) {
    return ProgramLine("legacy-federated", {"replay", directory.string()});
  }
  if (!scenario.methods.empty()) return "";
  const Scenario defaults = scenario.federated ? FederatedDefaults() : Scenario();
  return ProgramLine(
      scenario.federated ? "legacy-federated" : "legacy-scenario",
      WordsOfOptions(OptionsOf(scenario), scenario, defaults,
                     [](const ScenarioOption& option) { return !option.Has(kLeavesResults); }));
}

class Reader {
 public:
  Reader(const std::filesystem::path& folder, const StudyPlan& plan)
      : folder_(folder), plan_(plan), axes_(TrainingAxes(plan.definition)) {
    for (size_t t = 0; t < plan.trainings.size(); ++t) {
      const PlannedTraining& training = plan.trainings[t];
      if (!IsTrained(folder, training) || !RefusalOf(training).empty()) continue;
      recording_of_[t] = study_.recordings.size();
      study_.recordings.push_back(ReadRecordedRun(TrainingFolder(folder, training).string()));
    }
    study_.policies = plan.definition.scenario.policies;
    for (int i = 0; i < plan.definition.scenario.seeds; ++i) {
      study_.seeds.push_back(plan.definition.scenario.seed + i);
    }
  }

  WhatIfStudy Read();

 private:
  // Orders trainings by the order of policies in the study, then by seed.
  auto Order() const {
    return [this](const WhatIfTraining& training) {
      const auto policy = std::ranges::find(study_.policies, training.scenario.policies.front());
      return std::pair(policy - study_.policies.begin(), training.scenario.seed);
    };
  }

  // Returns what the trainings of a group have in common: their values on the axes of trainings,
  // and the identity of the clients if they read it.
  std::vector<std::string> KeyOf(size_t id) const {
    const PlannedPoint& point = plan_.points[id];
    const Scenario& training = plan_.trainings[point.training].scenario;
    std::vector<std::string> key;
    for (const size_t axis : axes_) {
      key.push_back(std::to_string(plan_.definition.points[id].values[axis]));
    }
    if (training.federated) {
      for (const char* flag : {"--clients", "--population", "--at"}) {
        key.push_back(FederatedRow(flag).get(*training.federated));
      }
      key.push_back(training.topology);
    }
    return key;
  }

  void AddPoint(size_t id) {
    const PlannedPoint& point = plan_.points[id];
    const PlannedTraining& training = plan_.trainings[point.training];
    if (!IsTrained(folder_, training)) return;
    const auto recording = recording_of_.find(point.training);
    if (recording == recording_of_.end()) return Refuse(id);
    study_.topologies.insert(point.scenario.topology);
    const auto [entry, fresh] = group_of_.try_emplace(KeyOf(id), study_.groups.size());
    if (fresh) {
      study_.groups.push_back(
          {LabelOf(plan_.definition, axes_, plan_.definition.points[id], SizeOf(training.scenario)),
           {}});
      bases_.push_back(&point.scenario);
    }
    std::vector<WhatIfTraining>& trainings = study_.groups[entry->second].trainings;
    if (std::ranges::count(trainings, recording->second, &WhatIfTraining::recording) > 0) return;
    trainings.push_back(
        {recording->second,
         OnNetworkOf(*bases_[entry->second], study_.recordings[recording->second]->Defaults())});
  }

  // Lists a point whose training is not replayed. Points that differ only in policy and seed, and
  // have the same reason, are listed as one; without a server, so are those that differ in their
  // lines.
  void Refuse(size_t id) {
    const PlannedPoint& point = plan_.points[id];
    const PlannedTraining& training = plan_.trainings[point.training];
    std::vector<size_t> axes = axes_;
    if (!training.refused.empty()) {
      axes.resize(plan_.definition.axes.size());
      std::iota(axes.begin(), axes.end(), size_t{0});
    }
    const std::string label =
        LabelOf(plan_.definition, axes, plan_.definition.points[id], SizeOf(point.scenario));
    const std::string reason = RefusalOf(training);
    const auto [entry, fresh] = refused_of_.try_emplace({label, reason}, refused_.size());
    if (fresh) {
      refused_.push_back(
          {{label, {}, reason, "", ""}, point.scenario, TrainingFolder(folder_, training)});
      refused_.back().scenario.seeds = plan_.definition.scenario.seeds;
    }
    Refused& refused = refused_[entry->second];
    if (auto task = TaskToPlan(point.scenario, TrainingFolder(folder_, training))) {
      refused.planned.push_back({0, point.scenario, std::move(task)});
    }
    std::vector<std::string>& policies = refused.row.policies;
    const std::string& policy = point.scenario.policies.front();
    if (std::ranges::find(policies, policy) != policies.end()) return;
    policies.push_back(policy);
    refused.scenario.methods.insert(point.scenario.methods.begin(), point.scenario.methods.end());
  }

  // A Refused has its row, its first point with the methods of all its points, that point's run
  // directory, and the trainings that can be planned.
  struct Refused {
    WhatIfRefused row;
    Scenario scenario;
    std::filesystem::path directory;
    std::vector<WhatIfTraining> planned = {};
  };

  // Adds the group that plans its trainings, if there are any.
  void Plan(Refused& refused) {
    if (refused.planned.empty()) return;
    std::ranges::stable_sort(refused.planned, {}, Order());
    const WhatIfTraining& first = refused.planned.front();
    refused.row.plan = PlanLine(PlanOptionsFor(first, first.scenario));
    refused.row.planned_by = study_.groups.size();
    study_.groups.push_back({refused.row.label, std::move(refused.planned)});
  }

  const std::filesystem::path& folder_;
  const StudyPlan& plan_;
  const std::vector<size_t> axes_;
  WhatIfStudy study_;
  std::map<size_t, size_t> recording_of_;  // recordings by the training's position in the plan
  std::map<std::vector<std::string>, size_t> group_of_;  // groups by KeyOf
  std::vector<const Scenario*> bases_;                   // first scenarios of the groups
  // Positions in refused_ by label and reason.
  std::map<std::pair<std::string, std::string>, size_t> refused_of_;
  std::vector<Refused> refused_;
};

WhatIfStudy Reader::Read() {
  for (size_t point = 0; point < plan_.points.size(); ++point) AddPoint(point);
  for (WhatIfGroup& group : study_.groups) {
    std::ranges::stable_sort(group.trainings, {}, Order());
  }
  for (Refused& refused : refused_) {
    refused.scenario.policies = refused.row.policies;
    refused.row.command = CommandFor(refused.scenario, refused.directory);
    Plan(refused);
    study_.refused.push_back(std::move(refused.row));
  }
  return std::move(study_);
}

}  // namespace

WhatIfStudy ReadWhatIfStudy(const std::filesystem::path& folder, const StudyPlan& plan) {
  return Reader(folder, plan).Read();
}

}  // namespace legacy
