// Results of jobs on one fabric: their steps alone and together, and what slows them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/result_rows.h"
#include "base/programs/terminal.h"
#include "scenarios/network/jobs/jobs_run.h"

namespace legacy {

// Returns a row for each job at each fidelity, combination of methods and offset.
std::vector<Row> JobsRows(const PreparedJobs& prepared,
                          const std::vector<JobsMeasurement>& measurements);

// Returns a headline, the tables of each fidelity and combination of methods, and one of all
// combinations, fitted to a terminal of `columns`.
std::string JobsTable(const PreparedJobs& prepared,
                      const std::vector<JobsMeasurement>& measurements,
                      size_t columns = OutputColumns());

}  // namespace legacy
