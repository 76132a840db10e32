// Steps of a shape by one method, and one of them, timed in memory.
#pragma once

#include <memory>
#include <string>

#include "analysis/rows.h"
#include "scenarios/options/scenario.h"
#include "scenarios/training/step_sources.h"
#include "trainer/step_source.h"

namespace legacy {

// Makes the steps of a training by a method; `sources` are those of the scenario's shape
// (DrawnSources). Both outlive the result.
std::unique_ptr<StepSource> ShapeSteps(const Scenario& scenario, const std::string& method,
                                       StepSources& sources);

// Returns the row of the first step of the scenario's shape (training.layers) by the first of its
// policies. Nothing is written. Throws Error on scenarios that are not valid.
analysis::StepRow TimeOneStep(const Scenario& scenario);

}  // namespace legacy
