#include "scenarios/python/compressed_model.h"

#include "base/error.h"

namespace legacy::python {
namespace {

std::vector<Unit> UnitsOf(const std::vector<Layer>& layers) {
  std::vector<Unit> units;
  int64_t offset = 0;
  for (const auto& [name, shape] : layers) {
    int64_t numel = 1;
    for (const int64_t side : shape) {
      if (side < 1 || side > kMaxUnitElements / numel) {
        throw Error("layers: " + name, std::to_string(side),
                    "sizes of 1 and more, below 2^32 in all");
      }
      numel *= side;
    }
    units.push_back({.id = static_cast<uint32_t>(units.size()),
                     .name = name,
                     .shape = shape,
                     .offset = offset,
                     .numel = numel});
    offset += numel;
  }
  if (units.empty()) throw Error("layers", "none", "sizes, shapes, or pairs of name and shape");
  return units;
}

}  // namespace

CompressedModel BuildModel(const ModelRequest& request) {
  CompressedModel model;
  SetOptions(model.scenario, request.options);
  model.plan = PlanUnits(UnitsOf(request.layers), ParseScope(request.scope, "scope"));
  Method method;
  method.name = request.policy;
  method.scheme = request.scheme;
  method.scope = {request.scope, "scope"};
  method.policy = request.policy;
  method.parameter =
      NumberOf(request.parameter, MakeScheme(request.scheme)->Parameter(), request.scheme);
  model.built = BuildMethod(method, model.scenario, model.plan.units, request.steps_per_epoch);
  return model;
}

py::dict DecisionDict(const Decision& decision, std::span<const Unit> units) {
  const bool all = decision.unit == Decision::kAllUnits;
  const DecisionGrounds& grounds = decision.grounds;
  return py::dict(py::arg("step") = decision.step, py::arg("decision") = decision.number,
                  py::arg("layer") = all ? "all" : units[decision.unit].name,
                  py::arg("parameter") = decision.parameter, py::arg("error") = grounds.error,
                  py::arg("budget") = grounds.budget, py::arg("gain") = grounds.gain,
                  py::arg("time_estimate") = grounds.seconds, py::arg("reason") = grounds.reason);
}

}  // namespace legacy::python
