// One step of a shape, timed in memory.
#pragma once

#include "analysis/rows.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// Returns the row of the first step of the scenario's shape (training.layers) by the first of its
// policies. Nothing is written. Throws Error on scenarios that are not valid.
analysis::StepRow TimeOneStep(const Scenario& scenario);

}  // namespace legacy
