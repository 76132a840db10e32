#include "scenarios/federated/federated_scenario.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "compress/exchange.h"
#include "ns3-module/fabric/tasks/selection.h"
#include "scenarios/federated/learner.h"
#include "scenarios/options/methods.h"
#include "trainer/data/data_catalog.h"
#include "trainer/data/model_catalog.h"
#include "trainer/federated/aggregator.h"
#include "trainer/federated/fragments.h"

namespace legacy {
namespace {

// Throws Error on an algorithm whose fragments cannot be combined with the exchange and local work.
void CheckFragments(const std::string& algorithm, const Scenario& scenario) {
  const AggregatorTraits traits = MakeAggregator(algorithm, {.numel = 1})->Traits();
  if (!traits.Streams()) return;
  if (scenario.federated->HasServer()) {
    throw Error("federated.algorithms", algorithm,
                "fragments and overlap with federated.exchange alone, as in ring-allreduce");
  }
  const int64_t steps = scenario.federated->local->steps;
  if (steps == 0) {
    throw Error("federated.algorithms", algorithm,
                "fragments and overlap with federated.local in steps alone, as in steps:50");
  }
  TurnsOf(traits.fragments, traits.overlap, steps);
}

}  // namespace

void ValidateFederated(const Scenario& scenario) {
  const CatalogEntry data = FindInCatalog(scenario.dataset, "training.dataset");
  CheckModel(scenario.model, data.task, "training.model");
  for (const StepCount* count : {&scenario.warmup_steps, &scenario.evaluate_every}) {
    if (count->InEpochs()) {
      throw Error("training", count->Text(), "numbers of versions: the server has no epochs");
    }
  }
  for (const FederatedMethod& method : FederatedMethodsOf(scenario)) {
    CheckFragments(method.algorithm, scenario);
  }
  RequestOf(scenario, scenario.seed);
}

std::vector<std::string> CouplingsOf(const PlanRequest& request) {
  std::vector<std::string> reasons;
  if (request.exchange) return reasons;  // all clients take part, and wait for each other
  if (const auto* sync = std::get_if<fabric::SyncOptions>(&request.server)) {
    if (sync->overSelect > 1) {
      reasons.emplace_back("federated.over_select: who arrives first depends on the network");
    }
    if (sync->deadline != kNever || sync->deadlineFactor > 0) {
      reasons.emplace_back("federated.deadline: who is late depends on the network");
    }
  } else {
    reasons.emplace_back("federated.server: an asynchronous server counts updates as they come");
  }
  const fabric::ClientAvailability availability(request.population, request.availability,
                                                request.seed);
  if (availability.DependsOnTime()) {
    reasons.emplace_back("federated.availability: who is there depends on the time");
  }
  if (request.dropout.HazardOf(0, 0) != kNever) {
    reasons.emplace_back("federated.dropout: which tasks are lost depends on how long they take");
  }
  const auto selection =
      fabric::MakeSelection(request.selection, request.seed, "--selection",
                            {request.population.Clients(), [](int) { return TimeNs{0}; }});
  if (selection->ReadsTimes()) {
    reasons.emplace_back("federated.selection: it reads times");
  }
  return reasons;
}

std::vector<std::string> CouplingsOf(const Scenario& scenario) {
  return CouplingsOf(RequestOf(scenario, scenario.seed));
}

std::vector<std::string> UnreadFederatedOptions(const Method& method, const Scenario& scenario) {
  const std::unique_ptr<Scheme> scheme = MakeScheme(SchemeText(method, scenario));
  const bool keeps =
      scheme->Parameter().Kind() != ParameterKind::kNone || scheme->UsesErrorFeedback(0);
  const UplinkMemory memory = *scenario.federated->uplink_memory;
  std::vector<std::string> unread;
  if (!keeps) unread.emplace_back("federated.uplink_memory");
  if (!keeps || memory != UplinkMemory::kClient) unread.emplace_back("federated.residual_decay");
  if (!keeps || memory == UplinkMemory::kOff) unread.emplace_back("federated.residual_age");
  return unread;
}

bool TrainingReadsPopulation(const PlanRequest& request) {
  if (request.selection.starts_with("weighted")) return true;
  return std::ranges::any_of(request.population.Groups(), [](const fabric::Group& group) {
    return !group.availability.empty();
  });
}

}  // namespace legacy
