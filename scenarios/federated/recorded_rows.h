// The rows of a run directory, as learners of a recorded run give them again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "scenarios/federated/learner.h"

namespace legacy {

// TrainingRows are the rows of one training.
struct TrainingRows {
  std::vector<analysis::StepRow> steps;
  std::map<int64_t, analysis::EvaluationRow> evaluations;  // by version
  std::vector<analysis::LayerRow> layers;
  std::vector<analysis::DecisionRow> decisions;
  std::vector<analysis::ClientRow> clients;
  std::map<int64_t, analysis::RoundRow> rounds;  // by version: those that made it
};

// RowsOfTrainings has those of each training, by policy and seed.
using RowsOfTrainings = std::map<std::pair<std::string, uint64_t>, TrainingRows>;

RowsOfTrainings RowsOf(const analysis::RunDirectory& run);

// Returns the training of a record, of tasks or of exchanges. Throws Error where there is none.
template <class Record>
const auto& TrainingOf(const Record& record, const std::string& policy, uint64_t seed) {
  const auto found = std::ranges::find_if(record.trainings, [&](const auto& training) {
    return training.policy == policy && training.seed == seed;
  });
  if (found == record.trainings.end()) {
    throw Error("the record has no training of " + policy + ", seed " + std::to_string(seed));
  }
  return *found;
}

// Return facts and evaluation of a version, from 0 the facts. Throw Error where there is no row.
VersionFacts FactsOf(const TrainingRows& rows, int64_t version);
Evaluation EvaluationOf(const TrainingRows& rows, int64_t version);
// Returns the decisions from number `next` on for versions up to this one, and moves `next` behind
// them.
std::vector<analysis::DecisionRow> DecisionsUpTo(const TrainingRows& rows, int64_t version,
                                                 size_t& next);

}  // namespace legacy
