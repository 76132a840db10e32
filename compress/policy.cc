#include "compress/policy.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"
#include "compress/policies/policies.h"

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

void Policy::Load(ByteSpan state) {
  if (!state.empty()) throw Error("policy " + std::string(Name()) + ": it has no state to load");
}

namespace {

PolicyRow UniformPolicyRow() {
  return {{.name = "uniform",
           .help = "one parameter for all units and steps",
           .paper = "",
           .options = {}},
          [](const OptionReader&, const PolicyContext& context) {
            return MakeUniformPolicy(context.parameter);
          }};
}

}  // namespace

std::span<const PolicyRow> PolicyTable() {
  static const std::vector<PolicyRow> table = {
      UniformPolicyRow(),   LegacyAutoRow(), WarmupRow(), LgrecoRow(),   AccordionRow(),
      LgrecoAccordionRow(), GravacRow(),     KimadRow(),  FlexibleRow(), ThetaRow()};
  return table;
}

int64_t EndsOfPeriods(int64_t total_steps, int64_t first, int64_t period) {
  return total_steps <= first ? 0 : (total_steps - 1 - first) / period + 1;
}

double NumberOrAuto(const OptionReader& options, std::string_view name, double automatic,
                    double minimum, double maximum) {
  return options.Text(name) == "auto" ? automatic : options.Number(name, minimum, maximum);
}

std::unique_ptr<Policy> MakePolicy(std::string_view text, const PolicyContext& context) {
  const std::vector<Stage> stages = ParseStages(text);
  if (stages.size() > 1) throw Error("policy", std::string(text), "one name with options");
  const PolicyRow& row = FindRow("policy", stages.front().name, PolicyTable());
  return row.make(OptionReader(stages.front(), row.info.options), context);
}

}  // namespace legacy
