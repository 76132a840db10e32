// Validation cases are the cases in which the engines are compared with each other. They are
// options of legacy-network, so that each can be repeated by hand.
#pragma once

#include <string>
#include <vector>

#include "scenarios/network/options/experiment.h"

namespace legacy {

// A ValidationCase is one such case.
struct ValidationCase {
  std::string options;    // "topo=star workers=8": name=value, separated by blanks
  bool quick = false;     // true where it is part of the sample
  int segment_bytes = 0;  // segment size; 0: the transport's
};

// Returns the experiment of a case. Throws Error as ParseExperiment does.
Experiment ExperimentOf(const ValidationCase& one, const std::vector<std::string>& fidelities);

// Returns cases of topologies, collectives, sizes, placements, oversubscription and stragglers.
std::vector<ValidationCase> FidelityCases();

}  // namespace legacy
