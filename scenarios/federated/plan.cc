#include "scenarios/federated/plan.h"

#include "scenarios/federated/exchange_plan.h"
#include "scenarios/federated/plan_parts.h"
#include "scenarios/federated/server_plan.h"

namespace legacy {

void CheckPlan(const PlanRequest& request) {
  PlanNetworks networks(request);
  if (request.exchange) {
    const ExchangeNetwork network(networks, {});
  } else {
    CheckServerPlan(networks);
  }
}

std::unique_ptr<PlanRun> StartPlan(PlanNetworks& networks, const PlanControl& control,
                                   Workload* workload) {
  if (networks.Request().exchange) return StartExchangePlan(networks, control);
  return StartServerPlan(networks, control, workload);
}

Plan RunToEnd(PlanRun& run, const std::function<void(int64_t)>& progress) {
  int64_t versions = 0;
  while (const PlannedRound* round = run.Next()) {
    versions += round->row.made ? 1 : 0;
    if (progress && round->row.made) progress(versions);
  }
  return run.Finish();
}

Plan RunPlan(PlanNetworks& networks, const PlanRemedy& remedy,
             const std::function<void(int64_t)>& progress, const StopFlag* stop) {
  return RunToEnd(*StartPlan(networks, {.remedy = remedy, .stop = stop}), progress);
}

Plan RunPlan(const PlanRequest& request, const PlanRemedy& remedy) {
  PlanNetworks networks(request);
  return RunPlan(networks, remedy);
}

}  // namespace legacy
