// Notes of a summary: what its readers need to know of runs that ended early and of single
// policies.
#pragma once

#include "analysis/summary.h"

namespace legacy::analysis {

// Adds notes on seeds that are incomplete, on policies that hardly decided, lost packets or missed
// the bytes that they were asked for, and the remarks of the run.
void AddNotes(const Manifest& manifest, Summary& summary);

}  // namespace legacy::analysis
