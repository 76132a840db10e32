// A pilot is a training of one worker over all steps that measures what a method sends.
#pragma once

#include "scenarios/options/scenario.h"
#include "trainer/step_source.h"

namespace legacy {

// Trains all of the scenario's steps, and returns the message bytes of its worker in a step, in the
// mean over the steps. `training` has one worker. A method that `reads_clock` or the network gets
// the times of the closed form, on the scenario's network, of steps in which all workers send what
// this one does.
double BytesOfPilot(StepSource& training, const Scenario& scenario, bool reads_clock);

}  // namespace legacy
