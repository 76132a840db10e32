// The doctor's remedies for the rounds of clients: faster lines, half the bytes, ... The rounds are
// those of a plan, or of a recorded run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/table_text.h"
#include "base/programs/program.h"
#include "scenarios/federated/plan.h"
#include "scenarios/network/doctor.h"

namespace legacy {

// A remedy is simulated over at most this number of rounds.
inline constexpr int64_t kRemedyRounds = 100;

// PlanRemedies are remedies that are to be simulated, each with what it changes.
using PlanRemedies = std::vector<std::pair<Remedy, PlanRemedy>>;

// Returns remedies that are worth asking about.
PlanRemedies RemediesFor(const PlanRequest& request);

// Diagnoses the median round of `base`, the plan as it is: `simulate` returns the plan with a
// remedy, of as many versions. The diagnosis is empty where `stop` interrupted it.
Diagnosis DiagnoseRounds(
    const Plan& base, const PlanRemedies& remedies,
    const std::function<Plan(const Remedy& remedy, const PlanRemedy& change)>& simulate,
    const StopFlag& stop);

// Returns the verdict as a sentence.
std::string RoundsVerdict(const Diagnosis& diagnosis);

// Returns the table of what each remedy would save.
analysis::Table RemedyTable(const Diagnosis& diagnosis);

}  // namespace legacy
