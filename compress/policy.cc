#include "compress/policy.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace legacy {

void Policy::Load(ByteSpan state) {
  if (!state.empty()) throw Error("policy " + std::string(Name()) + ": it has no state to load");
}

void DecideParameters(Policy& policy, const StepInfo& step, std::span<const Unit> units,
                      std::span<double> parameters) {
  if (policy.plugin().empty()) return policy.Decide(step, units, parameters);
  // NaN reveals parameters that the policy does not set.
  std::ranges::fill(parameters, std::numeric_limits<double>::quiet_NaN());
  InPlugin(policy, "Decide", [&] { policy.Decide(step, units, parameters); });
  for (size_t u = 0; u < units.size(); ++u) {
    try {
      CheckParameter(policy.range(), parameters[u]);
    } catch (const Error& error) {
      BlamePlugin(policy, "Decide, step " + std::to_string(step.step) + ", unit " + units[u].name +
                              ": " + error.what());
    }
  }
}

}  // namespace legacy
