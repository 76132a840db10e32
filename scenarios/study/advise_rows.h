// Federated advice compares rows: each algorithm with each policy for updates, with models that
// travel whole, and, where the scenario has another downlink, with that.
#pragma once

#include <string>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

// An AdvisedRow is a row's name, and what it is made of.
struct AdvisedRow {
  std::string name;  // "topk", "topk/fp16"; of several algorithms "scaffold topk/fp16"
  std::string algorithm;
  std::string uplink;  // policy
  std::string downlink;
  bool compresses_up = false;
  bool compresses_down = false;
};

// Returns the rows of a federated scenario, the uncompressed one of its first algorithm first, and
// makes them its policies: those that are not built-in methods become methods of its own. Throws
// Error on policies that do not exist.
std::vector<AdvisedRow> TakeRows(Scenario& scenario);

}  // namespace legacy
