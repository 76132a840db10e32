// The layers of a caller's model, and the scheme and policy that compress their gradients.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/options/methods.h"
#include "scenarios/options/scenario.h"
#include "scenarios/python/bindings.h"
#include "scenarios/python/options.h"
#include "trainer/clock/bucket_plan.h"

namespace legacy::python {

using Layer = std::pair<std::string, std::vector<int64_t>>;  // name, shape

// A ModelRequest is a method as a caller describes it.
struct ModelRequest {
  std::string policy = "uniform";
  std::string scheme = "topk";
  std::string scope = "layer";
  GivenParameter parameter = 0.0;  // of the scheme, or the policy's anchor; 0: the default
  std::vector<Layer> layers;
  int64_t steps_per_epoch = 1;
  NamedTexts options;  // of scenarios
};

// A CompressedModel has the units of a model, with the scheme and policy that compress them.
struct CompressedModel {
  Scenario scenario;
  UnitPlan plan;
  BuiltMethod built;

  int64_t numel() const { return plan.units.back().offset + plan.units.back().numel; }
};

// Builds that method. Throws Error on layers, options and methods that cannot be.
CompressedModel BuildModel(const ModelRequest& request);

// Returns a decision as a dict. `units` are those of the policy.
py::dict DecisionDict(const Decision& decision, std::span<const Unit> units);

}  // namespace legacy::python
