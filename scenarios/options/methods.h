// Builds the policy and the scheme of a training from a method's description.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compress/exchange.h"
#include "compress/policy.h"
#include "compress/schemes/owners/owned_slices.h"
#include "scenarios/options/scenario.h"
#include "trainer/clock/bucket_plan.h"
#include "trainer/weight_codec.h"

namespace legacy {

// A BuiltMethod has the policy and scheme of a method, for a training.
struct BuiltMethod {
  std::unique_ptr<Policy> policy;
  std::unique_ptr<Scheme> scheme;
  double parameter = 0;   // the policy's anchor: uniform parameter, or average density
  bool adaptive = false;  // true where the policy decides by more than step and layer
  // Text of the result: "topk, layers < 10000: 5.0 %, others: 0.62 %".
  std::string description;
};

// A MethodAnchor is the anchor of a method's policy: the uniform parameter, or the average density.
struct MethodAnchor {
  std::unique_ptr<Scheme> scheme;
  double parameter = 0;
};
// Returns the anchor of a method.
MethodAnchor AnchorOf(const Method& method, const Scenario& scenario, std::span<const Unit> units);

// Returns the method's scheme with the scenario's options in it.
std::string SchemeText(const Method& method, const Scenario& scenario);

// Returns how a scenario that shards cuts units into slices; else no owners.
Cut CutOf(const Scenario& scenario);
// Returns true for methods whose results depend on how units are cut: their messages go to the
// owners of slices, or come from them.
bool SendsToOwners(const Method& method, const Scenario& scenario);

// Returns the scheme of a method's messages to the owners of slices for experts that ranks divide:
// those who have the same ones, in a node and in all, are fewer. Null where ranks divide none.
std::unique_ptr<Scheme> ExpertSchemeOf(const Method& method, const Scenario& scenario);

// Returns the buckets in which a method's gradients travel. Messages to the owners of slices have a
// bucket for each layer, which the clock groups by the units of a sharded step.
BucketOptions BucketsOf(const Scenario& scenario, const Scheme& scheme);
// Returns the method's weight codec; null: workers gather the weights.
std::shared_ptr<const WeightCodec> WeightCodecOf(const Method& method, const Scenario& scenario,
                                                 uint64_t seed);

// Returns true for methods whose gradients have the format that training.reduce says.
bool SendsDense(const Method& method);
// Returns true for methods that send all values in 16 bits, whose sums are those of training.sum.
bool MayRoundSums(const Method& method, const Scenario& scenario);

// Builds a method. `units` are the units that it compresses. LEGACY's schedule is solved for the
// scenario's density over `scenario.steps` steps, unless it is given with volume "off". Throws
// Error on schedules that do not fit and on volumes that cannot be reached, with the bound.
BuiltMethod BuildMethod(const Method& method, const Scenario& scenario, std::span<const Unit> units,
                        int64_t steps_per_epoch = 1);

// Returns a warning where the policy will decide fewer than analysis::kFewestDecisions times in
// that many steps, with the way to change that; "" where it decides often enough.
std::string FewDecisions(const Method& method, const Policy& policy, int64_t steps);

// Returns a warning where the scheme sends everything whole in all steps of such a run, so that
// nothing is compressed: it takes none of these units, or has a warm-up or a dense start that is
// not shorter; else "".
std::string NeverCompresses(const Method& method, const Scheme& scheme, std::span<const Unit> units,
                            int64_t steps);

// Returns a remark where the scheme compresses the mean, so that it saves no bytes; else "".
std::string SendsEverything(const Method& method, const Scheme& scheme);

// Returns a remark where a schedule by layers or phases turned out to be the same everywhere, so
// that the method is its scheme with one parameter; else "".
std::string EndsUniform(const Method& method, const BuiltMethod& built, std::span<const Unit> units,
                        const Scenario& scenario);

// Returns a remark where training.reduce or training.sum changes what the method's name says; else
// "".
std::string FormatOf(const Method& method, const Scenario& scenario);

// Returns the names with which Method::policy may begin.
std::vector<std::string> MethodPolicyNames();

// Returns the reason why a training of `method` would differ on another network; "": it would be
// the same.
std::string NetworkDependence(const Method& method, const Scenario& scenario);

// Returns the keys of options that a training of `method` never reads, such as the density for a
// scheme without one. An option that is not listed may have no effect either.
std::vector<std::string> UnreadOptions(const Method& method, const Scenario& scenario);

}  // namespace legacy
