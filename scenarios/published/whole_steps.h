// The validation section "whole-steps": published step times beside those of the same trainings
// here.
#pragma once

#include "scenarios/network/validation/validation_sections.h"

namespace legacy {

// Times all rows of data parallelism, at analytic fidelity. The figures that have a limit are those
// that were reached: the medians of the classes A and B, and the order within families.
SectionResult ValidateWholeSteps(const SectionRun& run);

}  // namespace legacy
