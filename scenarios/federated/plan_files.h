// Files of a plan: CSV of rounds, tasks and clients (columns: analysis/federated_rows.h) and of
// links, and a Gantt chart of one round.
#pragma once

#include <filesystem>
#include <string>

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

// Return a Gantt chart of a round's tasks in the order of their ends, for a terminal (at most
// `rows` tasks, evenly chosen) and as SVG (at most 200).
std::string GanttText(const Plan& plan, const PlannedRound& round, int rows = 24);
std::string GanttSvg(const Plan& plan, const PlannedRound& round);

}  // namespace legacy
