// A training without a server on its network: clients' work is priced by their devices, and what
// they exchange travels by the collective of the request.
#pragma once

#include <memory>
#include <span>

#include "base/programs/program.h"
#include "scenarios/federated/client_clock.h"
#include "scenarios/federated/learner.h"
#include "scenarios/federated/plan.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// An ExchangeJob is one training. References outlive it.
struct ExchangeJob {
  const Scenario& scenario;
  const FederatedMethod& method;
  std::span<const OperationCost> costs;
  std::span<const Unit> layers;
};

// Starts the training from its first version on, as StartPlan does; all tasks are kept. What is
// given outlives the run. Throws Error.
std::unique_ptr<PlanRun> StartExchangeTraining(PlanNetworks& networks, const PlanControl& control,
                                               const ExchangeJob& job, ExchangeLearner& learner);

}  // namespace legacy
