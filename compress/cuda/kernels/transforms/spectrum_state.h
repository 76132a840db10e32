// The kernels of spectrum.h that select hand this state on to each other.
#pragma once

#include <cstdint>

#include "compress/cuda/kernels/selection/topk_state.h"
#include "compress/cuda/kernels/transforms/spectrum.h"

namespace legacy::cuda {

// SpectrumExtremes are what Pass sees of a unit, as maxima.
struct SpectrumExtremes {
  uint32_t largest;              // key of a value
  uint32_t largest_coefficient;  // of a re or im
  uint32_t smallest;             // ~ of that of one that is not zero
};

// All in the memory of the device.
struct SpectrumJob {
  Spectra spectra;
  SpectrumArrays arrays;
  TopKJob topk;  // of lists of bins
  // Scratch.
  ComplexFloat* coefficients;  // of topk.entries
  SpectrumExtremes* extremes;  // of each unit
  uint32_t* again;             // of each unit: Pass has to be done again
};

}  // namespace legacy::cuda
