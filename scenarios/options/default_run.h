// What legacy-scenario runs where neither a file nor options say otherwise.
#pragma once

#include <string>

#include "scenarios/options/scenario.h"

namespace legacy {

// A comparison of every family of methods that ends within two minutes on two cores: a small
// residual net with batch norm, two seeds, each training timed on four networks. On real images
// where there are some (Fashion-MNIST, else CIFAR-10, of the data root), else on the embedded
// glyphs.
Scenario DefaultRun();

// Which of them it is, and how to get the others; for people.
std::string DataNote(const Scenario& scenario);

}  // namespace legacy
