#include "scenarios/study/status.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>
#include <vector>

#include "analysis/csv.h"
#include "analysis/study/words.h"
#include "analysis/summary.h"
#include "base/error.h"
#include "base/parse.h"
#include "scenarios/replay/replay.h"
#include "scenarios/study/run.h"
#include "scenarios/study/shell.h"
#include "scenarios/study/work.h"

namespace legacy {
namespace {

using analysis::Study;
using analysis::StudyPoint;
using analysis::StudyState;

struct StateCounts {
  std::array<int64_t, 3> of = {};  // counts by StudyState

  void Add(StudyState state) { ++of[static_cast<size_t>(state)]; }
  int64_t Of(StudyState state) const { return of[static_cast<size_t>(state)]; }
  int64_t Total() const { return of[0] + of[1] + of[2]; }
};

std::string CountsLine(const char* what, const StateCounts& counts) {
  return fmt::format("{:<10} {:>6}: {} done, {} failed, {} pending\n", what, counts.Total(),
                     counts.Of(StudyState::kDone), counts.Of(StudyState::kFailed),
                     counts.Of(StudyState::kPending));
}

std::string Name(const Study& study) {
  return study.title.empty() ? study.name : study.name + ": " + study.title;
}

// Returns "topk, seed 1, bandwidth 1Gbps, delay 10us".
std::string Place(const Study& study, const StudyPoint& point) {
  std::string text = fmt::format("{}, seed {}", point.policy, point.seed);
  for (size_t axis = 0; axis < study.axes.size(); ++axis) {
    text += fmt::format(", {} {}", study.axes[axis].name, point.values[axis]);
  }
  return text;
}

// Returns the rows of one axis, in the order of `values`; `value_of` returns the value of a point.
std::string AxisRows(const Study& study, const std::string& name,
                     const std::vector<std::string>& values,
                     const std::function<std::string(const StudyPoint&)>& value_of) {
  std::map<std::string, StateCounts> counts;
  for (const StudyPoint& point : study.points) counts[value_of(point)].Add(point.state);
  std::string text;
  for (const std::string& value : values) {
    const StateCounts& row = counts[value];
    text += fmt::format("{:<20} {:<24} {:>8} {:>8} {:>8}\n", name, value, row.Of(StudyState::kDone),
                        row.Of(StudyState::kFailed), row.Of(StudyState::kPending));
  }
  return text;
}

// Returns the options that differ between two scenarios, as on a command line.
std::vector<std::string> Differences(const Scenario& from, const Scenario& to) {
  std::vector<std::string> words;
  for (const ScenarioOption& option : OptionsOf(from)) {
    if (!option.Has(kMayReplay) || option.key.starts_with("run.")) continue;
    const std::string text = option.get(to);
    if (option.get(from) != text) words.push_back(option.flag + "=" + text);
  }
  for (const auto& [name, value] : to.ns3) {
    const auto known = from.ns3.find(name);
    if (known == from.ns3.end() || known->second != value) {
      words.push_back("--" + name + "=" + value);
    }
  }
  return words;
}

std::string Value(double value) { return analysis::CsvNumber(value); }
std::string Value(int64_t value) { return std::to_string(value); }
std::string Value(const std::string& value) { return value; }
template <class T>
std::string Value(const std::optional<T>& value) {
  return value ? Value(*value) : "-";
}

}  // namespace

std::string PlanText(const StudyPlan& plan) {
  const Study study = EmptyStudy(plan);
  // Numbers of trainings by policy: all, and those that are tied to one network.
  std::map<std::string, std::pair<int64_t, int64_t>> trainings;
  double samples = 0;
  for (const PlannedTraining& training : plan.trainings) {
    auto& [all, own] = trainings[training.scenario.policies.at(0)];
    ++all;
    own += !training.refused.empty();
    samples += SamplesOf(training);
  }
  int64_t steps = 0;
  for (const PlannedPoint& point : plan.points) steps += StepsOf(point.scenario);
  std::string text = Name(study) + "\n";
  text += fmt::format("{} points: {} methods, {} seeds\n", study.points.size(),
                      study.policies.size(), study.seeds.size());
  for (const analysis::StudyAxis& axis : study.axes) {
    text += fmt::format("  {} ({}): {}\n", axis.name, axis.values.size(), Join(axis.values, ", "));
  }
  const bool federated = plan.definition.scenario.federated.has_value();
  text += fmt::format("{} trainings, of {} {} altogether\n", plan.trainings.size(), Value(samples),
                      federated ? "tasks" : "samples");
  for (const std::string& policy : study.policies) {
    const auto [all, own] = trainings[policy];
    text += fmt::format("  {}: {}", policy, all);
    text += own > 0 ? fmt::format(", {} of them for one network alone\n", own) : "\n";
  }
  return text + fmt::format("{} steps to time; equal ones are simulated once\n", steps);
}

std::string StatusText(const Study& study) {
  StateCounts points;
  StateCounts trainings;
  for (const StudyPoint& point : study.points) points.Add(point.state);
  for (const analysis::StudyTraining& training : study.trainings) trainings.Add(training.state);
  const std::string missed = analysis::MissedWords(study);
  std::string text = Name(study) + "\n" + CountsLine("points", points) +
                     CountsLine("trainings", trainings) + missed + (missed.empty() ? "" : "\n") +
                     fmt::format("\n{:<20} {:<24} {:>8} {:>8} {:>8}\n", "axis", "value", "done",
                                 "failed", "pending");
  text += AxisRows(study, "method", study.policies, [](const StudyPoint& p) { return p.policy; });
  std::vector<std::string> seeds;
  for (const uint64_t seed : study.seeds) seeds.push_back(std::to_string(seed));
  text +=
      AxisRows(study, "seed", seeds, [](const StudyPoint& p) { return std::to_string(p.seed); });
  for (size_t axis = 0; axis < study.axes.size(); ++axis) {
    text += AxisRows(study, study.axes[axis].name, study.axes[axis].values,
                     [axis](const StudyPoint& p) { return p.values[axis]; });
  }
  for (const std::string& note : study.notes) text += "\nnote: " + note + "\n";
  return text;
}

std::string FailuresText(const Study& study) {
  std::string text;
  for (const analysis::StudyTraining& training : study.trainings) {
    if (training.state != StudyState::kFailed) continue;
    text += fmt::format("training {} ({}, seed {}): {}\n", training.id, training.policy,
                        training.seed, training.message);
  }
  for (const StudyPoint& point : study.points) {
    if (point.state != StudyState::kFailed) continue;
    text += fmt::format("point {} ({}): {}\n", point.id, Place(study, point), point.message);
  }
  return text.empty() ? "nothing failed\n" : text;
}

std::string ReplayCommand(const StudyFolder& folder, size_t point) {
  const PlannedPoint& planned = folder.plan().points.at(point);
  const PlannedTraining& training = folder.plan().trainings.at(planned.training);
  const std::string run = TrainingFolder(folder.path(), training).string();
  if (!training.refused.empty()) return ProgramLine("legacy-report", {run});
  const bool clients = planned.scenario.federated.has_value();
  std::vector<std::string> words = {run};
  if (clients) words.insert(words.begin(), "replay");
  for (std::string& word : Differences(training.scenario, planned.scenario)) {
    words.push_back(std::move(word));
  }
  return ProgramLine(clients ? "legacy-federated" : "legacy-replay", words);
}

std::string PointText(const StudyFolder& folder, const Study& study, int64_t id) {
  if (id < 0 || id >= std::ssize(study.points)) {
    throw Error("--point", std::to_string(id), fmt::format("0 to {}", study.points.size() - 1));
  }
  const StudyPoint& point = study.points[static_cast<size_t>(id)];
  std::string text = fmt::format("point {}: {}\ntraining {}\n{}{}\n", id, Place(study, point),
                                 point.training, analysis::StateText(point.state),
                                 point.message.empty() ? "" : ": " + point.message);
  if (point.state == StudyState::kDone) {
    const Metric metric = ShownMetric(study);
    analysis::PointFigures::Columns(
        point.figures, [&](const char* column, const std::string& unit, const auto& value) {
          text += fmt::format("  {:<24} {} {}\n", column, Value(value),
                              unit == analysis::kMetricUnit ? metric.Unit() : unit);
        });
  }
  return text + ReplayCommand(folder, static_cast<size_t>(id)) + "\n";
}

void SetTarget(Study& study, const Target& target) {
  study.target = NamedTarget(target, study.metrics, "--target");
  const Metric metric = ShownMetric(study);
  const size_t position = ShownPosition(study);
  for (StudyPoint& point : study.points) {
    analysis::PointFigures& figures = point.figures;
    std::vector<double> values;
    figures.final_metric = figures.best_metric = analysis::kUnknown;
    for (const analysis::CurveRow& row : point.curve) {
      values.push_back(row.metrics.at(position));
      figures.final_metric = values.back();
      if (metric.IsBetter(values.back(), figures.best_metric)) figures.best_metric = values.back();
    }
    figures.time_to_target.reset();
    figures.steps_to_target.reset();
    if (const auto reached = analysis::TargetReached(metric, target.value, values)) {
      figures.time_to_target = point.curve[*reached].simulated_seconds;
      figures.steps_to_target = point.curve[*reached].step;
    }
  }
}

}  // namespace legacy
