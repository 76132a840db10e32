// The choice of a fidelity for a whole run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "scenarios/network/cost_estimate.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// A ChosenFidelity is a scenario whose fidelity is no longer `auto`.
struct ChosenFidelity {
  Scenario scenario;
  int64_t samples = 0;
  int64_t different = 0;  // number of different steps
  std::string reason;     // reason for people; empty: the fidelity was not auto
};

// Chooses the fidelity. `estimate(scenario)` returns the cost of its packets.
ChosenFidelity ResolveFidelity(const Scenario& scenario,
                               const std::function<PacketCost(const Scenario&)>& estimate);

}  // namespace legacy
