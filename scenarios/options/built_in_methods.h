// Built-in methods need no definition in the scenario's file. Each has a name, a scheme, a scope
// and a policy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

const std::vector<Method>& BuiltInMethodTable();

// Returns these, the methods of plugins' codecs, and one over Top-K for each policy that no
// built-in method has, such as a plugin's.
std::vector<Method> AllMethods();
// Returns the one of them with that name, if there is one.
std::optional<Method> BuiltInMethod(const std::string& name);

// Returns true for methods that send something to the owners of weights or slices, which are there
// with clock.sharding alone.
bool NeedsSharding(const Method& method);
// Returns true for methods whose scheme has as many workers in a node as the network (node=auto).
bool AsksForNodes(const Method& method);
// Returns the method with that number, for a scenario that shards; else the method itself. Workers
// that share one part of the data count once. Throws Error on networks that cannot be built.
Method InNodes(Method method, const Scenario& scenario);

// Returns the table that --policies=list prints: methods with scheme, scope and policy.
std::string MethodList();

}  // namespace legacy
