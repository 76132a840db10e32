// Selection of all magnitudes from a threshold on, of all layers of a model (and of several
// workers, whose buffers follow each other) in one set of launches, fused with error feedback: what
// sparsifiers/cut.h selects, to the bit. How, and the bytes moved: threshold_kernels.h.
//
// How many elements that is depends on the data; the memory for them does not. Lists are packed one
// after the other, in the order of the segments; what would lie behind the end of the memory is
// left out, counted, and stays in the residual: an overflow loses nothing and writes nowhere else.
//
// Nothing waits for the device, and the launches do not depend on the data: they can be captured in
// a CUDA graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cuda/device/segments.h"

namespace legacy::cuda {

// ThresholdArrays are in the memory of the device.
struct ThresholdArrays {
  // `feedback`: residual[i] += gradient[i] (unless `gradient` is null), and what is selected is
  // cleared in `residual`. Otherwise of what `residual` holds, which stays as it is, and without
  // gradient.
  const float* gradient = nullptr;
  float* residual = nullptr;
  bool feedback = true;
  const float* thresholds = nullptr;  // of each segment; 0 selects everything
  // Results.
  int64_t capacity = 0;         // entries of the next two
  uint32_t* indices = nullptr;  // of all segments, as PackedLists has them
  float* values = nullptr;
  int64_t* begin = nullptr;     // of each segment, and the end of all: one more
  uint32_t* count = nullptr;    // of each segment
  int64_t* left_out = nullptr;  // one number: entries that had no room
  // Numbers of NaN and infinities of each segment; where it is not 0 they are among what is
  // selected.
  uint32_t* non_finite = nullptr;
};

}  // namespace legacy::cuda
