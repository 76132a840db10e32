// Reasons say why one method is faster than another, and what would turn their order. Verdicts on
// runs and on studies share them.
#pragma once

#include <string>

#include "analysis/summary.h"

namespace legacy::analysis {

// A Contender is a method whose time is compared: what its mean step takes, and how many steps it
// needs to the target. Where there is no target, times of steps are compared, and `steps` is 1.
struct Contender {
  std::string name;
  StepSplit step;
  double steps = 1;
};

// Returns why `winner` is faster: its steps are shorter, with the part of a step that saves most of
// that, or it needs fewer of them. "a step of topk takes 4 ms and one of dense 65 ms, of which
// communication is 2 ms and 64 ms".
std::string WhyFaster(const Contender& winner, const Contender& rival);

// Returns, in a sentence, at which other rate of the links the rival would be level, if
// communication changes in proportion and nothing else does; or that no rate brings it level.
std::string WhatWouldTurn(const Contender& winner, const Contender& rival);

}  // namespace legacy::analysis
