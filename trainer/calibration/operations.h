// Operations are measured as LibTorch does them (OperationCost::kind), for profiles that are
// measured.
#pragma once

#include <functional>

#include "trainer/clock/profile.h"

namespace legacy {

// A Stopwatch returns the seconds of one call of a piece of work, which it repeats.
using Stopwatch = std::function<double(const std::function<void()>& work)>;

// Sets the profile's operations and launch floor, at the sizes of the shipped models: rates that a
// training sees, not peaks. `gpu`: on the first GPU, where batches are larger.
void MeasureOperations(const Stopwatch& seconds, bool gpu, Profile& profile);

// Does the same on the first GPU, by the wall clock, with medians of `runs`. No host copies are
// included, but where operations are short the host's time to launch one is. Throws Error where
// LibTorch has no GPU to use.
void MeasureGpuOperations(int runs, Profile& profile);

}  // namespace legacy
