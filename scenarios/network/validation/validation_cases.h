// The cases in which the engines are held against each other, as options of legacy-network, so that
// each can be repeated by hand.
#pragma once

#include <string>
#include <vector>

#include "scenarios/network/experiment.h"

namespace legacy {

struct ValidationCase {
  std::string options;    // "topo=star workers=8": name=value, separated by blanks
  bool quick = false;     // part of the sample
  int segment_bytes = 0;  // 0: the transport's
};

// Throws Error as ParseExperiment does.
Experiment ExperimentOf(const ValidationCase& one, const std::vector<std::string>& fidelities);

// Topologies, collectives, sizes, placements, oversubscription, stragglers.
std::vector<ValidationCase> FidelityCases();

}  // namespace legacy
