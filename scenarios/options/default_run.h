// The default run is what legacy-scenario runs where neither a file nor options say otherwise.
#pragma once

#include <string>

#include "scenarios/options/scenario.h"

namespace legacy {

// Returns a comparison of every family of methods that ends within two minutes on two cores: a
// small residual net with batch norm, two seeds, each training timed on four networks. It uses real
// images where there are some (Fashion-MNIST, else CIFAR-10, of the data root), else the embedded
// glyphs.
Scenario DefaultRun();

// Returns for people which of these data sets it is, and how to get the others.
std::string DataNote(const Scenario& scenario);

}  // namespace legacy
