// Texts about a study: its plan before any work, its progress, and one point in full.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "analysis/study/study.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/plan.h"

namespace legacy {

// Returns points, trainings, axes, and the work: samples to train on, steps to time.
std::string PlanText(const StudyPlan& plan);

// Returns counts by state, in all and for every value of policy, seed and axes.
std::string StatusText(const analysis::Study& study);

// Returns failed trainings and points, with their messages.
std::string FailuresText(const analysis::Study& study);

// Returns the point's place on the grid, its results, and the command that replays it into a run
// directory. Throws Error where there is no such point.
std::string PointText(const StudyFolder& folder, const analysis::Study& study, int64_t id);

// Returns that command. For a training that is not replayed, it is the one that shows its run
// directory.
std::string ReplayCommand(const StudyFolder& folder, size_t point);

// Sets another target, which may be of another of the study's metrics, and recomputes times to
// target and metrics from the points' curves. Throws Error where the study has no such metric.
void SetTarget(analysis::Study& study, const Target& target);

}  // namespace legacy
