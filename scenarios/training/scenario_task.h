// The task and the model of a scenario. Needs LibTorch.
#pragma once

#include <cstdint>
#include <memory>

#include "scenarios/options/scenario.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/tasks/task.h"

namespace legacy {

// Loads the scenario's data. Throws Error on data that do not exist.
std::unique_ptr<Task> TaskOf(const Scenario& scenario);

// Returns the request of the scenario's model for its task.
ModelRequest ModelOf(const Scenario& scenario, const Task& task, uint64_t seed);

}  // namespace legacy
