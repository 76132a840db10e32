// A plan with a server: it sends models to clients, whose updates come back.
#pragma once

#include <memory>

#include "scenarios/federated/plan.h"

namespace legacy {

// Do what CheckPlan and StartPlan do, for a request without an exchange.
void CheckServerPlan(PlanNetworks& networks);
std::unique_ptr<PlanRun> StartServerPlan(PlanNetworks& networks, const PlanControl& control,
                                         Workload* workload);

}  // namespace legacy
