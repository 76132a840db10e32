// A training without a server on its network: clients' work is priced by their devices, and what
// they exchange travels by the collective of the request.
#pragma once

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
  const PlanRequest& request;
  const FederatedMethod& method;
  std::span<const OperationCost> costs;
  std::span<const Unit> layers;
  PlanRemedy remedy = {};
};

// Runs the training from its first version on, as RunPlan does, and tells `listener` of everything.
// Throws Error.
Plan RunExchangeTraining(const ExchangeJob& job, ExchangeLearner& learner, PlanListener& listener,
                         const StopFlag* stop);

}  // namespace legacy
