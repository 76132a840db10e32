// Answers about federated trainings that cannot be replayed: plans of their rounds, without
// learning.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "analysis/federated/round_figures.h"
#include "scenarios/federated/plan_options.h"
#include "scenarios/options/scenario.h"
#include "scenarios/study/what_if/what_if.h"

namespace legacy {

// Returns whether the training of a scenario has a server.
bool HasServer(const Scenario& scenario);

// Returns the mean task of a training that is in `directory`; nothing where no plan tells what its
// rounds would take: it has no server, or chooses clients by their losses.
std::optional<MeanTask> TaskToPlan(const Scenario& scenario,
                                   const std::filesystem::path& directory);

// Returns the options of legacy-federated plan for a planned training on the network of `asked`,
// which is its scenario with other lines and devices.
PlanOptions PlanOptionsFor(const WhatIfTraining& training, const Scenario& asked);
// Returns its command line.
std::string PlanLine(const PlanOptions& options);

// Plans a training. `check` is called between transfers; what it throws ends the plan. Throws Error
// as ParsePlan and RunPlan do.
WhatIfSeed PlanAnswer(const WhatIfTraining& training, const Scenario& asked,
                      const std::function<void()>& check);

// Returns how rounds were spent, of `total` mean seconds from a version to the next.
WhatIfRound RoundOf(const analysis::RoundFigures& figures, double total);

}  // namespace legacy
