// A pilot is a training of one worker over all steps that says what a method would send.
#pragma once

#include "scenarios/options/scenario.h"
#include "trainer/step_source.h"

namespace legacy {

// Trains all of the scenario's steps, and returns the message bytes of a step of its worker, the
// mean over the steps. `training` has one worker. A method that `reads_clock` or the network is
// told the times of the closed form, on the scenario's network, of steps in which all workers send
// what this one does.
double BytesOfPilot(StepSource& training, const Scenario& scenario, bool reads_clock);

}  // namespace legacy
