#include <algorithm>
#include <cassert>

#include "compress/policies/policy_options.h"

namespace legacy {
namespace {

class UniformPolicy : public Policy {
 public:
  explicit UniformPolicy(double parameter) : parameter_(parameter) {}
  std::string_view Name() const override { return "uniform"; }
  void Decide(const StepInfo&, [[maybe_unused]] std::span<const Unit> units,
              std::span<double> parameters) override {
    assert(units.size() == parameters.size());
    std::ranges::fill(parameters, parameter_);
  }

 private:
  const double parameter_;
};

}  // namespace

std::unique_ptr<Policy> MakeUniformPolicy(double parameter) {
  return std::make_unique<UniformPolicy>(parameter);
}

PolicyRow UniformPolicyRow() {
  return {{.name = "uniform",
           .help = "uses the same parameter for all units and steps",
           .paper = "",
           .options = {}},
          [](const OptionReader&, const PolicyContext& context) {
            return MakeUniformPolicy(context.parameter);
          }};
}

}  // namespace legacy
