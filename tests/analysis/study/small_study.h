// Small studies whose every time a test sets by hand.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

inline StudyAxis Bandwidths(const std::vector<double>& values) {
  StudyAxis axis{"bandwidth", "bit/s", {}, values};
  for (const double value : values) axis.values.push_back(std::to_string(value) + "bps");
  return axis;
}

// Returns the full grid with all points pending. The first policy is the baseline.
inline Study PendingStudy(const std::vector<std::string>& policies,
                          const std::vector<uint64_t>& seeds, const std::vector<StudyAxis>& axes) {
  Study study;
  study.name = study.title = "small";
  study.baseline = policies.front();
  study.metrics = {{"accuracy", "accuracy", Metric::Better::kHigher, true}};
  study.target = Target{"accuracy", 0.8};
  study.policies = policies;
  study.seeds = seeds;
  study.axes = axes;
  std::vector<std::vector<std::string>> places = {{}};
  for (const StudyAxis& axis : axes) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& place : places) {
      for (const std::string& value : axis.values) {
        longer.push_back(place);
        longer.back().push_back(value);
      }
    }
    places = std::move(longer);
  }
  for (const auto& values : places) {
    for (const std::string& policy : policies) {
      for (const uint64_t seed : seeds) {
        StudyPoint point;
        point.id = static_cast<int64_t>(study.points.size());
        point.policy = policy;
        point.seed = seed;
        point.values = values;
        study.points.push_back(std::move(point));
      }
    }
  }
  return study;
}

// Finishes a point that takes 100 of its 200 steps to the target. Without a time, the target was
// not reached in `end` seconds.
inline void Finish(StudyPoint& point, std::optional<double> time, double end = 1000) {
  point.state = StudyState::kDone;
  PointFigures& figures = point.figures;
  figures.steps = 200;
  figures.time_to_target = time;
  if (time) figures.steps_to_target = 100;
  figures.simulated_seconds = end;
  figures.step_seconds = end / 200;
  figures.alpha_beta_step_seconds = time.value_or(end / 2) / 100;
}

// Gives every point that reached the target evaluations after each `between` of its 100 steps.
inline void Evaluate(Study& study, int64_t between) {
  for (StudyPoint& point : study.points) {
    const auto& time = point.figures.time_to_target;
    for (int64_t step = between; time && step <= 100; step += between) {
      point.curve.push_back({step, *time * static_cast<double>(step) / 100, 0, 0, 0, {0.5}});
    }
  }
}

// Sets every point's time.
inline void FinishAll(Study& study,
                      const std::function<std::optional<double>(const StudyPoint&)>& time) {
  for (StudyPoint& point : study.points) Finish(point, time(point));
}

}  // namespace legacy::analysis
