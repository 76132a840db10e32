// Selects all magnitudes from a threshold on, in all layers of a model (and of several workers,
// whose buffers follow each other), in one set of launches and fused with error feedback. The
// result has the same bits as that of sparsifiers/cut.h. threshold_kernels.h describes the kernels
// and the bytes that they move.
//
// The number of selected elements depends on the data; the memory for them does not. Lists are
// packed one after the other, in the order of the segments. Entries that do not fit are left out,
// counted, and stay in the residual, so that an overflow loses nothing and writes nowhere else.
//
// Nothing waits for the device, and the launches do not depend on the data: they can be captured in
// a CUDA graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cuda/device/segments.h"

namespace legacy::cuda {

// Pointers are to device memory.
struct ThresholdArrays {
  // With `feedback`, residual[i] += gradient[i] (unless `gradient` is null), and selected elements
  // are cleared in `residual`. Without it, `gradient` is null, and elements are selected from
  // `residual`, which does not change.
  const float* gradient = nullptr;
  float* residual = nullptr;
  bool feedback = true;
  const float* thresholds = nullptr;  // one per segment; 0 selects everything
  // Results.
  int64_t capacity = 0;         // number of entries of the next two arrays
  uint32_t* indices = nullptr;  // entries of all segments, as in PackedLists
  float* values = nullptr;
  int64_t* begin = nullptr;     // one per segment, and the end of all lists
  uint32_t* count = nullptr;    // one per segment
  int64_t* left_out = nullptr;  // one number: entries that did not fit
  // Number of NaN and infinities of each segment; if it is not 0, they are among the selected
  // elements.
  uint32_t* non_finite = nullptr;
};

}  // namespace legacy::cuda
