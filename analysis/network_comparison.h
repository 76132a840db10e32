// The same trainings on several networks: the run directory of one network holds those of the
// others in its folder networks/, and manifest.json lists them. Times differ between them,
// accuracies do not (but for policies that look at the network).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/summary.h"

namespace legacy::analysis {

struct NetworkResult {
  std::string name;
  Summary summary;
  // Of well-known models there: the model with its batch, and a dense step's communication / its
  // computing.
  std::vector<std::pair<std::string, double>> well_known = {};
};

// All networks of a run, its own first; empty where it has no others. `own` is the summary of
// `run`. Throws Error as ReadRunDirectory does, and on a manifest whose list is none.
std::vector<NetworkResult> ReadNetworks(const RunDirectory& run, const Summary& own,
                                        const SummaryOptions& options);

// A column of time-to-accuracy for each network, and how much longer a dense step communicates
// there than it computes, of the run's model and of well-known ones.
std::string NetworksText(const std::vector<NetworkResult>& networks);
std::string NetworksMarkdown(const std::vector<NetworkResult>& networks);
// networks.csv: one line a network and policy; seconds and fractions, empty where unknown.
std::string NetworksCsv(const std::vector<NetworkResult>& networks);

// Which policy reaches the target first on which network, and what makes the order turn, in
// sentences. Empty where no network has a policy that reached it with all seeds.
std::string NetworksConclusion(const std::vector<NetworkResult>& networks);

}  // namespace legacy::analysis
