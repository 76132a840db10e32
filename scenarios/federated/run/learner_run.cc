#include "scenarios/federated/run/learner_run.h"

#include "scenarios/federated/exchange_run.h"

namespace legacy {

AnyLearner MakeLearner(FederatedLearners& learners, const FederatedMethod& row, uint64_t seed,
                       PlanRequest& request, const std::string& states, TaskRecorder* tasks,
                       TrafficRecorder* exchanges) {
  AnyLearner made;
  if (request.exchange) {
    made.exchange = learners.MakeExchange(row, seed, request, exchanges);
  } else {
    made.tasks = learners.Make(row, seed, request, states, tasks);
  }
  return made;
}

Plan Simulate(const Scenario& scenario, const FederatedLearners& learners,
              const FederatedMethod& row, const PlanRequest& request, const AnyLearner& learner,
              PlanListener& listener, const StopFlag& stop) {
  if (learner.tasks) return RunPlan(request, {}, {}, &stop, learner.tasks.get(), &listener);
  const ExchangeJob job = {scenario, request, row, learners.Costs(), learners.Layers()};
  return RunExchangeTraining(job, *learner.exchange, listener, &stop);
}

}  // namespace legacy
