// Parts of a step's time, in the order and the colours of all figures.
#pragma once

#include <array>

#include "analysis/summary.h"

namespace legacy::analysis {

struct StepPart {
  const char* name;
  const char* colour;
  double StepSplit::*seconds;
};
inline constexpr std::array<StepPart, 5> kStepParts = {
    {{"compute", "#7F7F7F", &StepSplit::compute},
     {"encode", "#E69F00", &StepSplit::encode},
     {"communication", "#0072B2", &StepSplit::communication},
     {"decode", "#009E73", &StepSplit::decode},
     {"wait", "#D9D9D9", &StepSplit::wait}}};

}  // namespace legacy::analysis
