// The same trainings are compared on several networks. The run directory of one network has those
// of the others in its folder networks/, and manifest.json lists them. Times differ between
// networks. What is learnt does not, except that of policies that read the network's times.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/run_directory.h"
#include "analysis/summary.h"
#include "analysis/table_text.h"

namespace legacy::analysis {

struct NetworkResult {
  std::string name;
  Summary summary;
  // Well-known models with their batches, and the ratio of communication to computing in a dense
  // step of theirs.
  std::vector<std::pair<std::string, double>> well_known = {};
  RunDirectory rows = {};  // its steps and evaluations; empty for the run's own network
};

// Returns all networks of a run, its own first; empty where it has no others. `own` is the summary
// of `run`. Throws Error as ReadRunDirectory does, and on an invalid list in the manifest.
std::vector<NetworkResult> ReadNetworks(const RunDirectory& run, const Summary& own,
                                        const SummaryOptions& options);

// Return a table with a column of time-to-target for each network, and rows that say how much
// longer a dense step communicates there than it computes, for the run's model and for well-known
// ones.
Table NetworksTable(const std::vector<NetworkResult>& networks);
std::string NetworksText(const std::vector<NetworkResult>& networks);
std::string NetworksMarkdown(const std::vector<NetworkResult>& networks);
// Returns networks.csv: one line for each network and policy, with seconds and values of the
// metric, empty where unknown.
std::string NetworksCsv(const std::vector<NetworkResult>& networks);

}  // namespace legacy::analysis
