// An evaluation that the processes of a training share: of P, process p evaluates the parts p,
// p + P, ... of the test set, and sums are added in the order of parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "trainer/torch/backend.h"

namespace legacy {

// Returns the model for one part of an evaluation: `model` itself, or a copy that draws by the
// part's key and leaves no trace on it. The results are the same in whatever order, on whatever
// threads and in whatever processes the parts are evaluated.
std::shared_ptr<Model> ModelOfPart(Model& model, int64_t part);

// Evaluates the parts of the test set with these numbers. sums[i] becomes that of parts[i].
using EvaluateParts =
    std::function<void(Model& model, std::span<const int64_t> parts, std::span<MetricSums> sums)>;

// Evaluates the shared weights with the buffers and other state of a worker, which travel to the
// other processes and leave no trace there. All processes call it together; `evaluate` is called
// once in each, with a model in evaluation mode.
Evaluation EvaluateTogether(const BackendJob& job, int worker, const EvaluateParts& evaluate);

}  // namespace legacy
