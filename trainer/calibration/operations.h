// Rates of the models' operations (OperationCost::kind) as LibTorch does them: for profiles that
// are measured.
#pragma once

#include <functional>

#include "trainer/clock/profile.h"

namespace legacy {

// Seconds of one call of a piece of work, by repeating it.
using Stopwatch = std::function<double(const std::function<void()>& work)>;

// Sets the profile's operations and launch floor, at the sizes of the shipped models: rates that a
// training sees, not peaks. `gpu`: on the first one, where batches are larger.
void MeasureOperations(const Stopwatch& seconds, bool gpu, Profile& profile);

// The same on the first GPU, by the wall clock, medians of `runs`; no host copies are in it, but
// where operations are short the host's time to launch one is. Throws Error where LibTorch has no
// GPU to use.
void MeasureGpuOperations(int runs, Profile& profile);

}  // namespace legacy
