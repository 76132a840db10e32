// The default run is the run of legacy-scenario without a file and options.
#pragma once

#include <string>

#include "scenarios/options/scenario.h"

namespace legacy {

// Returns a comparison of every family of methods that ends within two minutes on two cores: a
// small residual net with batch norm, two seeds, each training timed on four networks. It uses real
// images where the data root has some (Fashion-MNIST, else CIFAR-10), else the embedded glyphs.
Scenario DefaultRun();

// Returns a text that names the data set and says how to get the others.
std::string DataNote(const Scenario& scenario);

}  // namespace legacy
