// Built-in methods are those that need no definition in the scenario's file: names, schemes, scopes
// and policies.
#pragma once

#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

const std::vector<Method>& BuiltInMethodTable();

}  // namespace legacy
