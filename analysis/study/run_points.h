// The trainings of a run directory are points of a study.
#pragma once

#include <vector>

#include "analysis/run_directory.h"
#include "analysis/study/study.h"
#include "analysis/summary.h"

namespace legacy::analysis {

// Sets figures and curve of a point from one training of a run: that of a policy of its summary
// with the seed at the position. Values of `metrics` that the run lacks are nan.
void FillPoint(StudyPoint& point, const RunDirectory& run, const PolicySummary& policy, size_t seed,
               const std::vector<Metric>& metrics);

}  // namespace legacy::analysis
