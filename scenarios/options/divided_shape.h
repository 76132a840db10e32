// The part of a model's shape that a worker computes where several divide it.
#pragma once

#include "scenarios/options/model_shape.h"
#include "scenarios/options/scenario.h"
#include "trainer/clock/experts.h"
#include "trainer/clock/layout.h"

namespace legacy {

// Returns what each worker of a group that divides tensors holds and computes, as the operations of
// the shape say: a part of outputs, inputs, heads or words, and sums of activations among the
// group. What is not divided is computed by all, or each computes it for a part of the positions
// (`layout.sequence`). Sizes are rounded up. Throws Error where the shape says of no operation how
// it is divided, and where heads cannot be divided equally.
ModelShape DivideTensors(ModelShape shape, const ParallelLayout& layout);

// Returns what each rank of a context holds and computes: all weights, and its part of the tokens
// of each sample. Attention is as much work for each, as with causal masks where ranks have an
// early and a late part. Throws Error where tokens cannot be divided equally.
ModelShape DivideContext(ModelShape shape, const ParallelLayout& layout);

// Returns what each of the ranks that divide experts holds and computes: its part of the experts,
// for the tokens of all of them, as many as the rank with the most gets of batches of `samples`;
// and what it sends to them. Throws Error where experts cannot be divided equally, where the shape
// has none, and on loads of other experts.
ModelShape DivideExperts(ModelShape shape, const ParallelLayout& layout, const ExpertLoad& load,
                         int samples);

// Returns the shape of a scenario (training.layers), divided as it says. Throws Error as above, and
// where the model has fewer blocks than the stages have chunks.
ModelShape DividedShape(const Scenario& scenario);

}  // namespace legacy
