// A verdict says in sentences what a run has shown: which policy is first and by how much, why,
// which others the seeds cannot tell apart from it, and what would turn the order. Where the run
// cannot tell, it says so and what it would take.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/network_comparison.h"
#include "analysis/summary.h"

namespace legacy::analysis {

// Returns the verdict on a run in one line. `networks` are those of the run where it has several
// (ReadNetworks), else empty.
//
// A policy is told apart from another where the 95 % t-interval of the ratios of their times,
// paired by seed, excludes 1. The time to a target is only known to within one evaluation: the
// slower of the two is taken to have reached it at its previous evaluation. With one seed the
// evaluations decide.
std::string VerdictOf(const Summary& own, const std::vector<NetworkResult>& networks);

}  // namespace legacy::analysis
