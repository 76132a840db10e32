// A method's description is turned into the policy and the scheme that a training takes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compress/exchange.h"
#include "compress/policy.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// A BuiltMethod is what a training takes of a method.
struct BuiltMethod {
  std::unique_ptr<Policy> policy;
  std::unique_ptr<Scheme> scheme;
  double parameter = 0;   // the policy's anchor: uniform parameter, or average density
  bool adaptive = false;  // true where the policy looks at more than step and layer
  // What was decided, for people: "topk, layers < 10000: 5.0 %, others: 0.62 %".
  std::string description;
};

// A MethodAnchor is what a method's policy begins with: the uniform parameter, or the average
// density.
struct MethodAnchor {
  std::unique_ptr<Scheme> scheme;
  double parameter = 0;
};
// Returns the anchor of a method.
MethodAnchor AnchorOf(const Method& method, const Scenario& scenario, std::span<const Unit> units);

// Builds a method. `units` is what it compresses as one piece each. LEGACY's schedule is solved for
// the scenario's density over `scenario.steps` steps unless it is given with volume "off". Throws
// Error on schedules that do not fit and on volumes that cannot be reached, with the bound.
BuiltMethod BuildMethod(const Method& method, const Scenario& scenario, std::span<const Unit> units,
                        int64_t steps_per_epoch = 1);

// Returns a text where the policy will decide fewer than analysis::kFewestDecisions times in so
// many steps, with how to change that; "" where it decides often enough.
std::string FewDecisions(const Method& method, const Policy& policy, int64_t steps);

// Returns the names that Method::policy may begin with.
std::vector<std::string> MethodPolicyNames();

// Returns why a training of `method` would be another one on another network; "": it would be the
// same.
std::string NetworkDependence(const Method& method, const Scenario& scenario);

// Returns the keys of options that a training of `method` never reads, so that their values change
// nothing: the density of a scheme without one, say. An option that is not listed may change
// nothing all the same.
std::vector<std::string> UnreadOptions(const Method& method, const Scenario& scenario);

}  // namespace legacy
