// Tables of a plan for people.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/federated/round_figures.h"
#include "analysis/table_text.h"
#include "scenarios/federated/plan.h"

namespace legacy {

// Returns the tables of a plan: its rounds, clients by group, and participation by decile of speed.
std::vector<analysis::Table> PlanTables(const PlanRequest& request, const Plan& plan);

// Remedies are simulated over at most so many rounds.
inline constexpr int64_t kRemedyRounds = 100;

// Remedies that are worth asking about, with their names.
std::vector<std::pair<std::string, PlanRemedy>> RemediesFor(const PlanRequest& request);

// Returns the table of what a round waits for and what each remedy would save. `base` and the plans
// are of equally many versions; plans are in the order of the remedies.
analysis::Table RemedyTable(const std::vector<std::pair<std::string, PlanRemedy>>& remedies,
                            const Plan& base, const std::vector<Plan>& plans);

// Returns a sentence that names the remedy that shortens the median round most, or that none of
// them saves 5 %. The plans are as for RemedyTable.
std::string RemedyVerdict(const std::vector<std::pair<std::string, PlanRemedy>>& remedies,
                          const Plan& base, const std::vector<Plan>& plans);

// Returns sentences about what the rounds wait for: which part of the critical task, whether lines
// that it shares with others, which group, and the slowest tenth of the clients.
std::string WaitsFor(const PlanRequest& request, const Plan& plan);

using analysis::Figure;
using analysis::Quantile;

}  // namespace legacy
