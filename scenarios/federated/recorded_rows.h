// The rows of a run directory, as learners of a recorded run give them again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run_directory.h"
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

// Return facts and evaluation of a version, from 0 the facts. Throw Error where there is no row.
VersionFacts FactsOf(const TrainingRows& rows, int64_t version);
Evaluation EvaluationOf(const TrainingRows& rows, int64_t version);
// Returns the decisions from number `next` on for versions up to this one, and moves `next` past
// them.
std::vector<analysis::DecisionRow> DecisionsUpTo(const TrainingRows& rows, int64_t version,
                                                 size_t& next);

// A RowsLearner answers what the rows of a recorded training say. `Kind` is FederatedLearner or
// ExchangeLearner.
template <class Kind>
class RowsLearner : public Kind {
 public:
  // `rows` outlive it.
  explicit RowsLearner(const TrainingRows& rows) : rows_(rows) {}

  int64_t Version() const override { return version_; }
  const VersionFacts& Facts() const override { return facts_; }
  Evaluation Evaluate() override { return EvaluationOf(rows_, version_); }
  std::vector<analysis::DecisionRow> TakeDecisions() override {
    return DecisionsUpTo(rows_, version_, next_decision_);
  }
  std::vector<analysis::LayerRow> LayerRows() const override { return rows_.layers; }
  std::string Description() const override { return "recorded"; }

 protected:
  const TrainingRows& rows() const { return rows_; }
  // Continues to the next version. Throws Error where the record has none.
  void Advance() { facts_ = FactsOf(rows_, version_++); }

  VersionFacts facts_;

 private:
  const TrainingRows& rows_;
  size_t next_decision_ = 0;
  int64_t version_ = 0;
};

}  // namespace legacy
