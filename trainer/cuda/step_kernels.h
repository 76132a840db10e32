// Step kernels are what a training's step needs on a device besides LibTorch and the exchanges:
// flat arrays of all layers, in its memory. All of it queues work and returns, and can be captured
// in a CUDA graph.
#pragma once

#include <cstdint>

#include "trainer/cuda/sgd_rule.h"

namespace legacy {

// SgdArrays are the flat arrays of an update.
struct SgdArrays {
  const float* gradient;
  float* weights;
  float* velocity;  // not read without momentum
};

// StepKernels are those of one model on one device.
class StepKernels {
 public:
  virtual ~StepKernels() = default;

  // Finds each layer's largest magnitude and first bad position: Operations::FindLargest()
  // (compress/cuda/exchange/operations.h). It reads 4 bytes an element.
  virtual void FindLargest(const float* gradient, uint32_t* largest, uint32_t* first) = 0;
  // Scales the whole gradient to the norm `limit` where its norm is above, as the host does, moving
  // 12 bytes an element.
  virtual void Clip(float* gradient, double limit) = 0;
  // Does the optimizer's step on all weights, moving 20 bytes an element, 12 without momentum.
  virtual void Update(MomentumKind kind, const SgdRates& rates, const SgdArrays& arrays) = 0;
};

}  // namespace legacy
