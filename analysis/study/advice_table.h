// The table of an advice: what each method takes to the target, and what it loses.
#pragma once

#include <string>

#include "analysis/study/advice.h"

namespace legacy::analysis {

// Returns a line for each method, of workers or of federated clients, and one of headers.
std::string AdviceTable(const Study& study, const Advice& advice);

}  // namespace legacy::analysis
