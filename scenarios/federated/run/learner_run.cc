#include "scenarios/federated/run/learner_run.h"

#include "scenarios/federated/exchange_run.h"
#include "scenarios/federated/server_plan.h"

namespace legacy {

AnyLearner MakeLearner(FederatedLearners& learners, const FederatedMethod& row, uint64_t seed,
                       PlanRequest& request, const std::string& states, Recorder* recorder) {
  AnyLearner made;
  if (request.exchange) {
    made.exchange = learners.MakeExchange(row, seed, request, recorder);
  } else {
    made.tasks = learners.Make(row, seed, request, states, recorder);
  }
  return made;
}

std::unique_ptr<PlanRun> StartTraining(PlanNetworks& networks, const PlanControl& control,
                                       const Scenario& scenario, const FederatedLearners& learners,
                                       const FederatedMethod& row, const AnyLearner& learner) {
  if (learner.tasks) return StartServerPlan(networks, control, learner.tasks.get());
  const ExchangeJob job = {scenario, row, learners.Costs(), learners.Layers()};
  return StartExchangeTraining(networks, control, job, *learner.exchange);
}

}  // namespace legacy
