// Rows of CSV files (analysis/federated/federated_rows.h) from what a plan simulated. Policy and
// seed are left to the caller.
#pragma once

#include "analysis/federated/federated_rows.h"
#include "scenarios/federated/plan.h"

namespace legacy {

// Returns the local steps of a client with that many samples; 0 where its work is given in seconds.
int64_t LocalSteps(const ClientWork& work, int64_t samples);

analysis::RoundRow RowOf(const PlannedRound& round);
analysis::TaskRow RowOf(const fabric::TaskRow& task, const TaskFigures& figures);
// Returns the row of a client, with the samples that the population says.
analysis::ClientRow RowOf(const PlanRequest& request, const Plan& plan, int64_t number);

}  // namespace legacy
