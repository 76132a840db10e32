// Tables of federated runs: what rounds come to, and which clients take part.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/federated/round_figures.h"
#include "analysis/summary.h"
#include "analysis/table_text.h"

namespace legacy::analysis {

// A FederatedPolicy has a policy's rows of the seeds over which its summary's means are: finished
// ones, or all where none has finished.
struct FederatedPolicy {
  std::string name;
  std::vector<RoundRow> rounds = {};
  std::vector<ClientRow> clients = {};                 // of whole trainings
  std::vector<std::vector<TaskSeconds>> counted = {};  // durations of counted tasks, by training
  std::vector<int64_t> staleness = {};                 // of counted tasks
};

// Returns the rows by policy; empty where the run has no rounds.
std::vector<FederatedPolicy> FederatedPolicies(const RunDirectory& run, const Summary& summary);

// Returns the tables of a federated run: rounds, their tasks, clients by group, and clients by
// decile of speed. Empty for other runs.
std::vector<Table> FederatedTables(const RunDirectory& run, const Summary& summary);

// Returns a sentence about what clients without a server wait for: the parts of a training's
// versions, as means over the clients.
std::string ExchangesWaitFor(std::span<const StepRow> versions);

}  // namespace legacy::analysis
