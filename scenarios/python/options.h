// Options of scenarios by their names in Python.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy::python {

// NamedTexts are names with values, as in {"workers", "4"}.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

// Sets options in order. A name is the flag with '_' for '-' ("batch", "evaluate_every"), the key's
// last part ("topology") or the whole key ("network.topology"). Throws Error with the nearest name
// on any other name, and on values that are not allowed.
void SetOptions(Scenario& scenario, const NamedTexts& options);

}  // namespace legacy::python
