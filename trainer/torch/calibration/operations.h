// Measures operations (OperationCost::kind) as LibTorch computes them, for measured profiles.
#pragma once

#include <functional>

#include "trainer/clock/profile.h"

namespace legacy {

// A Stopwatch repeats a piece of work and returns the seconds of one call.
using Stopwatch = std::function<double(const std::function<void()>& work)>;

// Sets the profile's operations and launch floor, at the sizes of the shipped models: rates that a
// training sees, not peaks. Where `gpu` is true, it measures the first GPU, with larger batches.
void MeasureOperations(const Stopwatch& seconds, bool gpu, Profile& profile);

// Sets them for the first GPU, by the wall clock, with medians of `runs`, in fp32 without TF32, as
// trainings compute (gpu_arithmetic.h). No host copies are included, but where operations are short
// the time in which the host launches one is. Throws Error where LibTorch has no GPU to use.
void MeasureGpuOperations(int runs, Profile& profile);

}  // namespace legacy
