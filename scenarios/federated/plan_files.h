// Files of a plan: CSV of rounds, tasks and clients (columns: analysis/federated/federated_rows.h)
// and of links, and the tasks of one round.
#pragma once

#include <filesystem>
#include <string>

#include "analysis/federated/gantt.h"
#include "scenarios/federated/plan.h"

namespace legacy {

// Return the text of rounds.csv, tasks.csv and clients.csv.
std::string RoundsCsv(const PlanRequest& request, const Plan& plan);
std::string TasksCsv(const PlanRequest& request, const Plan& plan);
std::string ClientsCsv(const PlanRequest& request, const Plan& plan);
// Returns the text of links.csv.
std::string LinksCsv(const Plan& plan);

// Returns the round with the median duration among those whose tasks were kept, or `wanted` (from
// 1; 0: none is wanted). Throws Error naming --gantt where the plan has no such round.
const PlannedRound& GanttRound(const Plan& plan, int64_t wanted);

// Returns a round's row and its tasks, for a Gantt chart.
analysis::RoundTasks TasksOf(const Plan& plan, const PlannedRound& round);

}  // namespace legacy
