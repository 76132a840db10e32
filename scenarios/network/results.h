// Results show measurements, as rows for CSV and JSON and as tables for people. Wall-clock times
// are in the tables alone: files of equal experiments are equal, byte for byte.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/result_rows.h"
#include "base/programs/terminal.h"
#include "scenarios/network/measure.h"
#include "scenarios/network/sweep_table.h"

namespace legacy {

// Returns one row for each measurement of a collective, or of a list of flows; of endless flows,
// those of ThroughputRows. `values` describe the experiment, and `swept` has the options that
// differ among those of one table.
std::vector<Row> ResultRows(const ExperimentOptions& options, const PreparedExperiment& prepared,
                            const std::vector<Measurement>& measurements,
                            const std::vector<std::string>& swept = {});

// FlowStatistics are statistics of flow completion times, and of their ratios to the times of the
// flows alone.
struct FlowStatistics {
  double mean = 0;  // seconds
  double p50 = 0;
  double p99 = 0;
  double longest = 0;
  double mean_slowdown = 0;
  double p50_slowdown = 0;
  double p99_slowdown = 0;
  double largest_slowdown = 0;
};
// Returns the statistics of a list of flows.
FlowStatistics StatisticsOf(const PreparedExperiment& prepared, const Measurement& measurement);

// Returns the smallest value that at least the fraction `q` of the values do not exceed. `sorted`
// is not empty.
double Percentile(const std::vector<double>& sorted, double q);

// Returns a headline, one line for each fidelity, and notes, fitted to a terminal of `columns`.
std::string ResultTable(const PreparedExperiment& prepared,
                        const std::vector<Measurement>& measurements,
                        size_t columns = OutputColumns());
std::vector<std::string> Warnings(const PreparedExperiment& prepared,
                                  const std::vector<Measurement>& measurements);

}  // namespace legacy
