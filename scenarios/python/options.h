// Options of scenarios by the names that Python has for them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy::python {

// Names with values, as in {"workers", "4"}.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

// Sets options in order. A name is that of the flag with '_' for '-' ("batch", "evaluate_every"),
// the key's last part ("topology") or the whole key ("network.topology"). Throws Error with the
// nearest name on any other, and on values that cannot be.
void SetOptions(Scenario& scenario, const NamedTexts& options);

}  // namespace legacy::python
