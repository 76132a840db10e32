// Several policies read their options and count their decisions by these functions.
#pragma once

#include "compress/policy.h"

namespace legacy {

// Returns the number of decisions at the ends of steps first - 1, first - 1 + period, ... (from 0)
// that are followed by another step of the run.
int64_t EndsOfPeriods(int64_t total_steps, int64_t first, int64_t period);

// Returns the option's number, or `automatic` if its text is "auto".
double NumberOrAuto(const OptionReader& options, std::string_view name, double automatic,
                    double minimum, double maximum);

}  // namespace legacy
