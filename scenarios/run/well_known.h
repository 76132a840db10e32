// Well-known ratios say how long dense steps of well-known models communicate for each second of
// computing. They show which networks a small model's network resembles.
#pragma once

#include <string>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

// A CommunicationRatio is the ratio of one model.
struct CommunicationRatio {
  std::string model;  // name with one worker's samples in a step: "resnet50 x 32 images"
  double ratio = 0;   // seconds of a dense step's communication / seconds of its compute
};

// Returns the ratios on the scenario's network, with its devices and number of workers, without
// stragglers, from closed forms of shapes (docs/shapes.md). Throws Error on networks and profiles
// that are not valid.
std::vector<CommunicationRatio> WellKnownRatios(const Scenario& scenario);

}  // namespace legacy
