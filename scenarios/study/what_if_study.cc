#include "scenarios/study/what_if_study.h"

#include <algorithm>
#include <map>

#include "scenarios/run/recording.h"
#include "scenarios/run/replay.h"
#include "scenarios/study/work.h"

namespace legacy {
namespace {

// Returns the positions of the axes on which a training depends.
std::vector<size_t> TrainingAxes(const StudyDefinition& definition) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < definition.axes.size(); ++i) {
    const bool shapes = std::ranges::any_of(definition.axes[i].settings, [](const auto& settings) {
      return std::ranges::any_of(
          settings, [](const auto& setting) { return !MayReplayChange(setting.first); });
    });
    if (shapes) axes.push_back(i);
  }
  return axes;
}

std::string LabelOf(const StudyDefinition& definition, const std::vector<size_t>& axes,
                    const StudyDefinition::Combination& point, int workers) {
  std::string label = std::to_string(workers) + " workers";
  for (const size_t i : axes) {
    const analysis::StudyAxis& axis = definition.axes[i].axis;
    if (axis.name == "workers") continue;
    std::string name = axis.name;
    std::ranges::replace(name, '_', ' ');
    label += ", " + name + " " + axis.values[point.values[i]];
  }
  return label;
}

class Reader {
 public:
  Reader(const std::filesystem::path& folder, const StudyPlan& plan)
      : plan_(plan), axes_(TrainingAxes(plan.definition)) {
    for (size_t t = 0; t < plan.trainings.size(); ++t) {
      const PlannedTraining& training = plan.trainings[t];
      if (!training.refused.empty() || !IsTrained(folder, training)) continue;
      if (training.scenario.federated) continue;  // its answers are replays of legacy-federated
      recording_of_[t] = study_.recordings.size();
      study_.recordings.push_back(std::make_shared<const Recording>(
          ReadRecording(TrainingFolder(folder, training).string())));
    }
    study_.policies = plan.definition.scenario.policies;
    for (int i = 0; i < plan.definition.scenario.seeds; ++i) {
      study_.seeds.push_back(plan.definition.scenario.seed + i);
    }
  }

  WhatIfStudy Read();

 private:
  // Orders trainings by the study's order of policies, then by seed.
  auto Order() const {
    return [this](const WhatIfTraining& training) {
      const auto policy = std::ranges::find(study_.policies, training.scenario.policies.front());
      return std::pair(policy - study_.policies.begin(), training.scenario.seed);
    };
  }

  void AddPoint(size_t id) {
    const PlannedPoint& point = plan_.points[id];
    const auto recording = recording_of_.find(point.training);
    if (recording == recording_of_.end()) return;
    study_.topologies.insert(point.scenario.topology);
    const StudyDefinition::Combination& combination = plan_.definition.points[id];
    std::vector<size_t> key;
    for (const size_t axis : axes_) key.push_back(combination.values[axis]);
    const auto [entry, fresh] = group_of_.try_emplace(key, study_.groups.size());
    if (fresh) {
      const std::string label =
          LabelOf(plan_.definition, axes_, combination, point.scenario.workers);
      study_.groups.push_back({label, {}});
      bases_.push_back(&point.scenario);
    }
    std::vector<WhatIfTraining>& trainings = study_.groups[entry->second].trainings;
    if (std::ranges::count(trainings, recording->second, &WhatIfTraining::recording) > 0) return;
    trainings.push_back(
        {recording->second, OnNetworkOf(*bases_[entry->second],
                                        ReplayDefaults(*study_.recordings[recording->second]))});
  }

  const StudyPlan& plan_;
  const std::vector<size_t> axes_;
  WhatIfStudy study_;
  std::map<size_t, size_t> recording_of_;  // recordings by the training's position in the plan
  std::map<std::vector<size_t>, size_t> group_of_;  // groups by positions on the training's axes
  std::vector<const Scenario*> bases_;              // first scenarios of the groups
};

WhatIfStudy Reader::Read() {
  for (size_t point = 0; point < plan_.points.size(); ++point) AddPoint(point);
  for (WhatIfGroup& group : study_.groups) {
    std::ranges::stable_sort(group.trainings, {}, Order());
  }
  return std::move(study_);
}

}  // namespace

WhatIfStudy ReadWhatIfStudy(const std::filesystem::path& folder, const StudyPlan& plan) {
  return Reader(folder, plan).Read();
}

}  // namespace legacy
