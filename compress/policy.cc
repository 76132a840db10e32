#include "compress/policy.h"

#include <algorithm>
#include <cassert>

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

}  // namespace legacy
