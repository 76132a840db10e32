// Costs of a model are observed: its forward pass runs once, and each operation of LibTorch is
// counted from the shapes of what it reads and writes. So they hold for any module.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/clock/operation_cost.h"

namespace legacy {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// A ForwardPass runs the forward pass on that many samples.
using ForwardPass = std::function<void(int64_t samples)>;

// Parameters that a pass does not read are a mistake, or belong to a first operation that costs
// nothing.
enum class Unread : uint8_t { kRefused, kFree };

// Returns the costs of the pass for one sample, in the order of execution. `parameters` are the
// model's, and a parameter belongs to the first operation that reads it. The pass runs twice, with
// different numbers of samples: bytes that do not grow with them are read once per batch, as
// weights are. Throws Error where a parameter takes no part, unless those are free, and where the
// two passes differ.
//
// Counted are convolutions, matrix products and recurrent layers as multiply-adds; normalisation
// reads its input twice; everything else, such as pooling and element-wise operations, counts as
// the bytes that it reads and writes. Views cost nothing.
std::vector<OperationCost> ObserveCosts(const NamedTensors& parameters, Unread unread,
                                        const ForwardPass& forward);

}  // namespace legacy
