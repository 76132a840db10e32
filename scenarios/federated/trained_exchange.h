// Learners without a server that train with LibTorch, and what they share with those that have one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scenarios/federated/learner.h"
#include "scenarios/options/methods.h"
#include "trainer/torch/federated/exchange_training.h"

namespace legacy {

// UnitSums are sums over tasks or versions, by unit.
struct UnitSums {
  double parameter = 0;
  double elements = 0;
  double bytes = 0;

  template <class Archive>
  friend void Fields(Archive& archive, UnitSums& s) {
    archive(s.parameter, s.elements, s.bytes);
  }
};

// Returns the rows of layers.csv after that many versions.
std::vector<analysis::LayerRow> LayerRowsOf(std::span<const UnitSums> sums,
                                            std::span<const Unit> units, int64_t versions);
// Returns the rows of decisions.csv, without decisions for versions after the last.
std::vector<analysis::DecisionRow> DecisionRowsOf(std::span<const Decision> decisions,
                                                  std::span<const Unit> units, int64_t versions);
// Returns the number of labels among a client's samples.
int64_t LabelsIn(const Partition& partition, int64_t client, const SampleLabels& labels);

// Throws Error on a method whose training would depend on network or collective.
void CheckExchanges(const Method& method, const Scenario& scenario);

// ExchangeParts are what a learner without a server is made of. References outlive it, and
// `recorder` may be null.
struct ExchangeParts {
  const Task& task;
  const SampleLabels& labels;
  FederatedOptions options;
  ModelRequest model;
  std::unique_ptr<Partition> partition;
  // Builds the method of a fragment's units.
  std::function<BuiltMethod(std::span<const Unit> units)> build;
  std::string name;
  Recorder* recorder;
};
std::unique_ptr<ExchangeLearner> TrainedExchange(ExchangeParts parts);

}  // namespace legacy
