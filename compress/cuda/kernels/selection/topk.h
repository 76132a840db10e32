// Exact Top-K of magnitudes on a GPU, fused with error feedback, of all layers of a model (and of
// several workers, whose buffers follow each other) in one set of launches: what cpu/topk.h
// selects, to the bit. How, and the bytes moved: topk_kernels.h.
//
// Nothing waits for the device, and the launches do not depend on the data: they can be captured in
// a CUDA graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cuda/device/segments.h"

namespace legacy::cuda {

// TopKArrays are in the memory of the device.
struct TopKArrays {
  // Error feedback: residual[i] += gradient[i], and what is kept is cleared in `residual`. Null: of
  // what `residual` holds, which stays as it is.
  const float* gradient = nullptr;
  float* residual = nullptr;
  const uint32_t* k = nullptr;   // of each segment, up to its length
  const int64_t* out = nullptr;  // where in the next two a segment's k kept elements begin
  uint32_t* indices = nullptr;   // counted from the segment's begin, ascending
  float* values = nullptr;
  // Numbers of NaN and infinities of each segment; where it is not 0 the rest of the results is the
  // largest keys, NaN above infinity. May be null.
  uint32_t* non_finite = nullptr;
};

}  // namespace legacy::cuda
