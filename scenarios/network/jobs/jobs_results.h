// Results of jobs on one fabric: their times alone and together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/result_rows.h"
#include "base/programs/terminal.h"
#include "scenarios/network/jobs/jobs.h"

namespace legacy {

// Returns a row for each job at each fidelity.
std::vector<Row> JobsRows(const PreparedJobs& prepared,
                          const std::vector<JobsMeasurement>& measurements);

// Returns a headline, and a table for each fidelity with a line for each job, fitted to a terminal
// of `columns`.
std::string JobsTable(const PreparedJobs& prepared,
                      const std::vector<JobsMeasurement>& measurements,
                      size_t columns = OutputColumns());

}  // namespace legacy
