// The status of a study is what is known of it, as text for people: its plan before any work, how
// far it is, one point in full.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "analysis/study/study.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/plan.h"

namespace legacy {

// Returns points, trainings, axes, and what they take: samples to train on, steps to time.
std::string PlanText(const StudyPlan& plan);

// Returns counts by state, of all and of every value of policy, seed and axes.
std::string StatusText(const analysis::Study& study);

// Returns failed trainings and points, with their messages.
std::string FailuresText(const analysis::Study& study);

// Returns where the point is on the grid, what came out of it, and the command that replays it into
// a run directory. Throws Error where there is no such point.
std::string PointText(const StudyFolder& folder, const analysis::Study& study, int64_t id);

// Returns that command; for a training that is not replayed, the one that shows its run directory.
std::string ReplayCommand(const StudyFolder& folder, size_t point);

// Sets another target (fraction), and finds times to accuracy anew on the points' curves.
void SetTarget(analysis::Study& study, double target);

}  // namespace legacy
