// The part of a model's shape that a worker computes with tensor parallelism.
#pragma once

#include "scenarios/options/model_shape.h"
#include "scenarios/options/scenario.h"
#include "trainer/clock/layout.h"

namespace legacy {

// Returns what each worker of a group that divides tensors holds and computes, as the operations of
// the shape say: a part of outputs, inputs, heads or words, and sums of activations among the
// group. What is not divided is computed by all, or each computes it for a part of the positions
// (`layout.sequence`). Sizes are rounded up. Throws Error where the shape says of no operation how
// it is divided, and where heads cannot be divided equally.
ModelShape DivideTensors(ModelShape shape, const ParallelLayout& layout);

// Returns the shape of a scenario (training.layers), divided as it says. Throws Error as above, and
// where the model has fewer blocks than the stages have chunks.
ModelShape DividedShape(const Scenario& scenario);

}  // namespace legacy
