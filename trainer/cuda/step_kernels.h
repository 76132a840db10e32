// Step kernels are the kernels that a training step needs besides LibTorch and the exchanges. They
// work on flat arrays of all layers, in the device's memory. All functions queue work and return,
// and can be captured in a CUDA graph.
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

// StepKernels are the step kernels of one model on one device.
class StepKernels {
 public:
  virtual ~StepKernels() = default;

  // Finds each layer's largest magnitude and the first position that is not finite:
  // Operations::FindLargest() (compress/cuda/exchange/operations.h). It reads 4 bytes an element.
  virtual void FindLargest(const float* gradient, uint32_t* largest, uint32_t* first) = 0;
  // Scales the whole gradient to the norm `limit` where its norm is larger, as the host does. It
  // moves 12 bytes an element.
  virtual void Clip(float* gradient, double limit) = 0;
  // Does the optimizer's step on all weights. It moves 20 bytes an element, 12 without momentum.
  virtual void Update(MomentumKind kind, const SgdRates& rates, const SgdArrays& arrays) = 0;
};

}  // namespace legacy
