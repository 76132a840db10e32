#include "scenarios/run/fidelity_choice.h"

#include "scenarios/network/fidelity.h"
#include "scenarios/run/scenario_timing.h"

namespace legacy {

ChosenFidelity ResolveFidelity(const Scenario& scenario,
                               const std::function<PacketCost(const Scenario&)>& estimate) {
  if (*scenario.fidelity != Fidelity::kAuto) return {scenario, 0, 0, ""};
  ChosenFidelity chosen{scenario, 0, 0, ""};
  chosen.scenario.fidelity = "flow";
  const PacketCost cost = estimate(chosen.scenario);
  const double budget = InSeconds(*scenario.packet_budget);
  const FidelityChoice choice = ChooseFidelity(cost.seconds, cost.steps, budget);
  SetOption(chosen.scenario, "network.fidelity", NameOf(choice.fidelity));
  chosen.samples = choice.samples;
  chosen.different = cost.steps;
  chosen.reason = "auto: " + NameOf(choice.fidelity) + " fidelity; " + choice.reason;
  return chosen;
}

}  // namespace legacy
