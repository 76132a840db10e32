// The rows of PolicyTable(), each defined in its own file.
#pragma once

#include "compress/policy.h"

namespace legacy {

PolicyRow UniformPolicyRow();    // uniform.cc
PolicyRow LegacyAutoRow();       // legacy_auto.cc
PolicyRow WarmupRow();           // warmup.cc
PolicyRow LgrecoRow();           // lgreco.cc
PolicyRow AccordionRow();        // accordion.cc
PolicyRow LgrecoAccordionRow();  // lgreco.cc
PolicyRow GravacRow();           // gravac.cc
PolicyRow KimadRow();            // kimad.cc
PolicyRow FlexibleRow();         // flexible.cc
PolicyRow ThetaRow();            // theta.cc

// Returns the number of decisions at the ends of steps first - 1, first - 1 + period, ... (from 0)
// that are followed by another step of the run.
int64_t EndsOfPeriods(int64_t total_steps, int64_t first, int64_t period);

// Returns the option's number, or `automatic` if its text is "auto".
double NumberOrAuto(const OptionReader& options, std::string_view name, double automatic,
                    double minimum, double maximum);

}  // namespace legacy
