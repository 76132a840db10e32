// Exact Top-K of magnitudes on a GPU, fused with error feedback, for all layers of a model (and for
// several workers, whose buffers follow each other) in one set of launches. The result has the same
// bits as that of cpu/topk.h. topk_kernels.h describes the kernels and the bytes that they move.
//
// Nothing waits for the device, and the launches do not depend on the data: they can be captured in
// a CUDA graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cuda/device/segments.h"

namespace legacy::cuda {

// Pointers are to device memory.
struct TopKArrays {
  // With error feedback, residual[i] += gradient[i], and selected elements are cleared in
  // `residual`. If null, elements are selected from `residual`, which does not change.
  const float* gradient = nullptr;
  float* residual = nullptr;
  const uint32_t* k = nullptr;  // one per segment, at most its length
  // Index in the next two arrays at which a segment's k elements begin.
  const int64_t* out = nullptr;
  uint32_t* indices = nullptr;  // positions within the segment, ascending
  float* values = nullptr;
  // Number of NaN and infinities of each segment. If it is not 0, the other results of the segment
  // are the largest keys, NaN above infinity. May be null.
  uint32_t* non_finite = nullptr;
};

}  // namespace legacy::cuda
