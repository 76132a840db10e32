// FFT sparsification on a GPU (codecs/fft_codec.h): of many units (layers, of one worker) at once
// the strongest bins of their spectra, and the way back. Transforms are those of cpu/fft.h
// operation by operation, so that positions, coefficients and sums are the CPU's to the bit: no
// other bound of the error is needed. How: spectrum_kernels.h.
//
// Bytes moved for n elements, where K bins are kept, and L, some more than K, are listed:
//   select    4.25 n read; 16 L written and 24 L read; 8 K read and 12 K written
//   add back  4 n written, and 4 n read but for a mean; 12 K read for each worker
//
// Nothing waits for the device, and the launches do not depend on the data: they can be captured in
// a CUDA graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/kernels/transforms/spectrum_table.h"

namespace legacy::cuda {

// SpectrumArrays are in the memory of the device.
struct SpectrumArrays {
  const float* values = nullptr;  // flat
  const uint32_t* k = nullptr;    // bins to keep of each unit: 1 to all of them; 0 of an empty one
  const int64_t* out = nullptr;   // where in the next two a unit's kept bins begin
  uint32_t* positions = nullptr;  // bins, counted from the unit's first one, ascending
  ComplexFloat* coefficients = nullptr;
  // A power of two for each unit by which magnitudes are about 1; it becomes the right one. Any
  // will do: a wrong one costs time, and only where powers are not normal numbers with it.
  float* scales = nullptr;
  // Bits of the largest |x| of each unit. Above kLargestValueKey the CPU refuses the unit, whose
  // results mean nothing.
  uint32_t* largest = nullptr;
};
inline constexpr uint32_t kLargestValueKey = cpu::KeyOf(cpu::SpectrumPlan::kLargestValue);
inline constexpr uint32_t kLargestCoefficientKey =
    cpu::KeyOf(cpu::SpectrumPlan::kLargestCoefficient);

enum class InverseMode : uint8_t {
  kMean,      // out = the vector of the sum of the workers' spectra / divisor
  kAdd,       // out += the vector of that sum
  kSubtract,  // out -= the same
};

struct InverseArrays {
  // For the units of each worker: where its bins begin in the next two, and how many are used.
  const int64_t* begin = nullptr;
  const uint32_t* count = nullptr;
  const uint32_t* positions = nullptr;  // ascending; not read where all bins of a unit are there
  const ComplexFloat* coefficients = nullptr;
  int32_t workers = 1;
  InverseMode mode = InverseMode::kMean;
  float divisor = 1;
  float* out = nullptr;  // flat
  // For each worker its units: becomes 1 where a coefficient is above kLargestCoefficientKey, which
  // the CPU refuses, so that the sum means nothing. Stays as it is elsewhere. May be null.
  uint32_t* malformed = nullptr;
};

}  // namespace legacy::cuda
