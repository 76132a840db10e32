// Rows of CSV files (analysis/federated_rows.h) from what a plan simulated. Policy and seed are
// left to the caller.
#pragma once

#include "analysis/federated_rows.h"
#include "scenarios/federated/plan.h"

namespace legacy {

analysis::RoundRow RowOf(const PlannedRound& round);
analysis::TaskRow RowOf(const fabric::TaskRow& task, const TaskFigures& figures);
// Returns the row of a client, with the samples that the population says.
analysis::ClientRow RowOf(const PlanRequest& request, const Plan& plan, int64_t number);

}  // namespace legacy
