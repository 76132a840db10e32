// The state that the selecting kernels of spectrum.h share.
#pragma once

#include <cstdint>

#include "compress/cuda/kernels/selection/topk_state.h"
#include "compress/cuda/kernels/transforms/spectrum.h"

namespace legacy::cuda {

// Extremes of a unit that Pass has seen, stored as maxima.
struct SpectrumExtremes {
  uint32_t largest;              // key of the largest value
  uint32_t largest_coefficient;  // key of the largest real or imaginary part
  uint32_t smallest;             // ~ of the key of the smallest one that is not zero
};

// All pointers are to device memory.
struct SpectrumJob {
  Spectra spectra;
  SpectrumArrays arrays;
  TopKJob topk;  // selection from the lists of bins
  // Scratch.
  ComplexFloat* coefficients;  // one per entry of topk.entries
  SpectrumExtremes* extremes;  // one per unit
  uint32_t* again;             // 1 for units for which Pass must be repeated
};

}  // namespace legacy::cuda
