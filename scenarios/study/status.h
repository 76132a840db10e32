// What is known of a study, as text for people: its plan before any work, how far it is, one point
// in full.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "analysis/study/study.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/plan.h"

namespace legacy {

// Points, trainings, axes, and what it takes: samples to train on, steps to time.
std::string PlanText(const StudyPlan& plan);

// Counts by state, of all and of every value of policy, seed and axes.
std::string StatusText(const analysis::Study& study);

// Failed trainings and points, with their messages.
std::string FailuresText(const analysis::Study& study);

// Where the point is on the grid, what came out of it, and the command that replays it into a run
// directory. Throws Error where there is no such point.
std::string PointText(const StudyFolder& folder, const analysis::Study& study, int64_t id);

// That command; of a training that is not replayed the one that shows its run directory.
std::string ReplayCommand(const StudyFolder& folder, size_t point);

// The target put to another accuracy (fraction): times to accuracy are found anew on the points'
// curves.
void SetTarget(analysis::Study& study, double target);

}  // namespace legacy
