// Tables of a plan for people.
#pragma once

#include <string>
#include <vector>

#include "analysis/federated/round_figures.h"
#include "analysis/table_text.h"
#include "scenarios/federated/plan.h"

namespace legacy {

// Returns the tables of a plan: its rounds, clients by group, and participation by decile of speed.
std::vector<analysis::Table> PlanTables(const PlanRequest& request, const Plan& plan);
// Returns those of a plan that has an exchange: its rounds, hops and clients.
std::vector<analysis::Table> ExchangeTables(const PlanRequest& request, const Plan& plan);

// Returns sentences about what the rounds wait for: which part of the critical task, whether lines
// that it shares with others, which group, and the slowest tenth of the clients.
std::string WaitsFor(const PlanRequest& request, const Plan& plan);
// Returns the sentence about what synchronisations wait for, compared with what is possible.
std::string ExchangeWaitsFor(const Plan& plan);

using analysis::Figure;
using analysis::Quantile;

}  // namespace legacy
