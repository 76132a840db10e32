// What legacy-scenario runs where neither a file nor options say otherwise.
#pragma once

#include <string>

#include "scenarios/scenario.h"

namespace legacy {

// The scenario's defaults, on real images where there are some: Fashion-MNIST, else CIFAR-10 of the data root, else the
// embedded glyphs.
Scenario DefaultRun();

// Which of them it is, and how to get the others; for people.
std::string DataNote(const Scenario& scenario);

}  // namespace legacy
