// Figures of RoCEv2 from the counters of simulations, for the files of runs and of legacy-network.
#pragma once

#include <vector>

#include "analysis/rows.h"
#include "ns3-module/fabric/engine/engine.h"

namespace legacy {

// Returns what NICs and switches did in `time` of a simulation.
analysis::RoceFigures RoceFiguresOf(const fabric::EngineCounters& counters,
                                    const std::vector<fabric::LinkCounters>& links, TimeNs time);
// Returns the pauses of one directed link of a topology.
analysis::PauseFigures PauseFiguresOf(const fabric::Topology& topology,
                                      const fabric::LinkCounters& link);

}  // namespace legacy
