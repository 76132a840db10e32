// How long dense steps of well-known models communicate for each second that they compute, so that
// a reader can tell what a small model's network stands for.
#pragma once

#include <string>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

struct CommunicationRatio {
  std::string model;  // "resnet50 x 32 images": with what one worker computes in a step
  double ratio = 0;   // seconds of a dense step's communication / of its computing
};

// On the network, the devices and with as many workers as `scenario` has; without stragglers, by
// closed forms. Shapes alone (docs/shapes.md). Throws Error on networks and profiles that cannot
// be.
std::vector<CommunicationRatio> WellKnownRatios(const Scenario& scenario);

}  // namespace legacy
