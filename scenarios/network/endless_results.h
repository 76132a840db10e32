// Results of endless flows: throughput and fairness over time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/result_rows.h"
#include "scenarios/network/measure.h"

namespace legacy {

// Returns a row for each flow in each window, of all fidelities: the window's start and end, the
// flow, its throughput, and the fairness of all flows in the window.
std::vector<Row> ThroughputRows(const PreparedExperiment& prepared,
                                const std::vector<Measurement>& measurements);

// Returns a table for each fidelity, with a line for each window and one for all of them,
// fitted to a terminal of `columns`.
std::string ThroughputLines(const std::vector<Measurement>& measurements, size_t columns);

}  // namespace legacy
