// Well-known ratios say how long dense steps of well-known models communicate for each second that
// they compute, so that a reader can tell what a small model's network stands for.
#pragma once

#include <string>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

// A CommunicationRatio is the ratio of one model.
struct CommunicationRatio {
  std::string model;  // name, with what one worker computes in a step: "resnet50 x 32 images"
  double ratio = 0;   // seconds of a dense step's communication / seconds of its computing
};

// Returns the ratios on the network, the devices and with as many workers as `scenario` has,
// without stragglers, by closed forms of shapes alone (docs/shapes.md). Throws Error on networks
// and profiles that cannot be.
std::vector<CommunicationRatio> WellKnownRatios(const Scenario& scenario);

}  // namespace legacy
