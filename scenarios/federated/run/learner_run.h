// The learner of a training, with a server or without one, and its rounds.
#pragma once

#include <memory>
#include <string>

#include "scenarios/federated/learner.h"
#include "scenarios/federated/plan.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// An AnyLearner is a learner with a server, or one without.
struct AnyLearner {
  std::unique_ptr<FederatedLearner> tasks;
  std::unique_ptr<ExchangeLearner> exchange;

  Learner& operator*() const {
    if (exchange) return *exchange;
    return *tasks;
  }
  Learner* operator->() const { return &**this; }
};

// Makes the learner of a method and seed, for a request with an exchange or without one. `recorder`
// may be null.
AnyLearner MakeLearner(FederatedLearners& learners, const FederatedMethod& row, uint64_t seed,
                       PlanRequest& request, const std::string& states, Recorder* recorder);

// Starts the training of a learner. What is given outlives the run.
std::unique_ptr<PlanRun> StartTraining(PlanNetworks& networks, const PlanControl& control,
                                       const Scenario& scenario, const FederatedLearners& learners,
                                       const FederatedMethod& row, const AnyLearner& learner);

}  // namespace legacy
