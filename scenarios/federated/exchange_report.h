// Tables of a plan without a server for people.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/table_text.h"
#include "scenarios/federated/plan.h"

namespace legacy {

// Returns the tables of a plan that has an exchange: its rounds, hops and clients.
std::vector<analysis::Table> ExchangeTables(const PlanRequest& request, const Plan& plan);

// Returns the sentence about what synchronisations wait for, beside what is possible.
std::string ExchangeWaitsFor(const Plan& plan);

// Remedies that are worth asking about, with their names.
std::vector<std::pair<std::string, PlanRemedy>> ExchangeRemedies(const PlanRequest& request);

}  // namespace legacy
