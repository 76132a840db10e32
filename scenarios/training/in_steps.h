// Numbers of steps of a scenario that counts in epochs.
#pragma once

#include "scenarios/options/scenario.h"
#include "trainer/processes/process_group.h"

namespace legacy {

// Returns the scenario with numbers of steps instead of epochs. It may read data.
Scenario InSteps(const Scenario& scenario, const ProcessGroup& processes);

}  // namespace legacy
