// Notes about methods that do less in a run than their names say.
#include <algorithm>

#include "analysis/summary.h"
#include "scenarios/options/methods.h"

namespace legacy {

std::string SendsEverything(const Method& method, const Scheme& scheme) {
  const SchemeTraits traits = scheme.Traits();
  if (!traits.compresses_mean) return "";
  if (traits.servers > 0) {
    return method.name +
           ": with where=server workers send every value; only the server's answers are compressed";
  }
  return method.name +
         ": where=after-mean sends every value; its element ratio counts what is selected from the "
         "mean, its bytes are at least those of dense";
}

std::string FewDecisions(const Method& method, const Policy& policy, int64_t steps) {
  const std::optional<DecisionForecast> forecast = policy.DecisionsIn(steps);
  if (!forecast || forecast->decisions >= analysis::kFewestDecisions) return "";
  const char* const times[] = {"never decides", "decides once", "decides twice"};
  return method.name + ": its policy " + method.policy + " " + times[forecast->decisions] + " in " +
         std::to_string(steps) +
         " steps; a part of the run makes it act: " + std::string(policy.Name()) + ":" +
         forecast->remedy;
}

std::string NeverCompresses(const Method& method, const Scheme& scheme, std::span<const Unit> units,
                            int64_t steps) {
  const SchemeTraits traits = scheme.Traits();
  const double least = scheme.Parameter().minimum;
  if (std::ranges::none_of(units, [&](const Unit& u) { return scheme.Compresses(u, least); })) {
    const bool vectors =
        std::ranges::none_of(units, [](const Unit& u) { return u.shape.size() > 1; });
    return method.name + ": its scheme sends everything whole, as it compresses " +
           (vectors ? "matrices and none of these layers has the shape of one"
                    : "none of these layers");
  }
  if (traits.dense_steps < steps) return "";
  const std::string option = traits.momentum_from ? "warmup" : "dense_start";
  return method.name + ": its scheme sends everything whole in its first " +
         std::to_string(traits.dense_steps) + " steps, so that this run of " +
         std::to_string(steps) +
         " never compresses; a smaller number makes it: " + std::string(scheme.Name()) + ":" +
         option + "=" + std::to_string(std::max<int64_t>(1, steps / 5));
}

}  // namespace legacy
