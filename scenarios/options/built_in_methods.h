// Built-in methods need no definition in the scenario's file. Each has a name, a scheme, a scope
// and a policy.
#pragma once

#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

const std::vector<Method>& BuiltInMethodTable();

// Returns these, the methods of plugins' codecs, and one over Top-K for each policy that no
// built-in method has, such as a plugin's.
std::vector<Method> AllMethods();

// Returns the table that --policies=list prints: methods with scheme, scope and policy.
std::string MethodList();

}  // namespace legacy
