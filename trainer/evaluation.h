// An evaluation that the processes of a training share: of P, process p evaluates the parts p,
// p + P, ... of the test set, and sums are added in the order of parts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "trainer/backend.h"

namespace legacy {

// Evaluates the parts of the test set with these numbers. sums[i] becomes that of parts[i].
using EvaluateParts =
    std::function<void(Model& model, std::span<const int64_t> parts, std::span<MetricSums> sums)>;

// Evaluates the shared weights with the buffers of a worker, which travel to the other processes
// and leave no trace there. All processes call it together; `evaluate` is called once in each, with
// a model in evaluation mode.
Evaluation EvaluateTogether(const BackendJob& job, int worker, const EvaluateParts& evaluate);

}  // namespace legacy
