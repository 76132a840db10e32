#include "scenarios/federated/recorded_rows.h"

#include "base/error.h"

namespace legacy {

RowsOfTrainings RowsOf(const analysis::RunDirectory& run) {
  RowsOfTrainings all;
  const auto take = [&](const auto& rows, auto&& put) {
    for (const auto& row : rows) put(all[{row.policy, row.seed}], row);
  };
  take(run.steps, [](TrainingRows& to, auto& row) { to.steps.push_back(row); });
  take(run.evaluations, [](TrainingRows& to, auto& row) { to.evaluations[row.step] = row; });
  take(run.layers, [](TrainingRows& to, auto& row) { to.layers.push_back(row); });
  take(run.decisions, [](TrainingRows& to, auto& row) { to.decisions.push_back(row); });
  // Rounds that made no version come before the one that did.
  take(run.rounds, [](TrainingRows& to, auto& row) { to.rounds[row.version] = row; });
  take(run.clients, [](TrainingRows& to, auto& row) { to.clients.push_back(row); });
  return all;
}

VersionFacts FactsOf(const TrainingRows& rows, int64_t version) {
  if (version >= std::ssize(rows.steps)) {
    throw Error("replay: version " + std::to_string(version + 1) + " is not in the record");
  }
  const analysis::StepRow& step = rows.steps[static_cast<size_t>(version)];
  VersionFacts facts = {.learning_rate = step.learning_rate,
                        .loss = step.training_loss,
                        .elements_sent = step.elements_sent,
                        .message_bytes = step.message_bytes,
                        .transfer_bytes = step.nic_bytes,
                        .critical = {}};
  if (const auto round = rows.rounds.find(version + 1); round != rows.rounds.end()) {
    const analysis::RoundRow& row = round->second;
    facts.residuals = {.clients = row.residuals.value_or(0),
                       .age = row.residual_age.value_or(0),
                       .norm = row.residual_norm.value_or(0)};
  }
  return facts;
}

Evaluation EvaluationOf(const TrainingRows& rows, int64_t version) {
  const auto found = rows.evaluations.find(version);
  if (found == rows.evaluations.end()) {
    throw Error("replay: the record has no evaluation of version " + std::to_string(version));
  }
  return {.loss = found->second.test_loss, .metrics = found->second.metrics};
}

std::vector<analysis::DecisionRow> DecisionsUpTo(const TrainingRows& rows, int64_t version,
                                                 size_t& next) {
  std::vector<analysis::DecisionRow> decisions;
  while (next < rows.decisions.size() && rows.decisions[next].step <= version) {
    decisions.push_back(rows.decisions[next++]);
  }
  return decisions;
}

}  // namespace legacy
