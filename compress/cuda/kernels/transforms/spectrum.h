// FFT sparsification on a GPU (codecs/fft_codec.h): selects the strongest bins of the spectra of
// many units (layers, of one worker) at once, and transforms selected bins back. Transforms perform
// the operations of cpu/fft.h in the same order, so that positions, coefficients and sums have the
// CPU's bits. spectrum_kernels.h describes the kernels.
//
// Bytes moved for n elements, if K bins are selected and L, slightly more than K, are listed:
//   select    4.25 n read; 16 L written and 24 L read; 8 K read and 12 K written
//   add back  4 n written, and 4 n read unless the result is a mean; 12 K read for each worker
//
// Nothing waits for the device, and the launches do not depend on the data: they can be captured in
// a CUDA graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/kernels/transforms/spectrum_table.h"

namespace legacy::cuda {

// Pointers are to device memory.
struct SpectrumArrays {
  const float* values = nullptr;  // flat
  const uint32_t* k = nullptr;    // bins to select per unit, at least 1; 0 for an empty unit
  const int64_t* out = nullptr;   // index in the next two arrays at which a unit's bins begin
  uint32_t* positions = nullptr;  // bins within the unit, ascending
  ComplexFloat* coefficients = nullptr;
  // One power of two per unit that brings magnitudes to about 1. The kernels replace it by the
  // right one. Any power of two gives a correct result; a wrong one costs time if some squares are
  // not normal numbers with it.
  float* scales = nullptr;
  // Bits of the largest |x| of each unit. Above kLargestValueKey the CPU refuses the unit, and its
  // results mean nothing.
  uint32_t* largest = nullptr;
};
inline constexpr uint32_t kLargestValueKey = cpu::KeyOf(cpu::SpectrumPlan::kLargestValue);
inline constexpr uint32_t kLargestCoefficientKey =
    cpu::KeyOf(cpu::SpectrumPlan::kLargestCoefficient);

enum class InverseMode : uint8_t {
  kMean,      // out = the vector of the sum of the workers' spectra / divisor
  kAdd,       // out += the vector of that sum
  kSubtract,  // out -= the vector of that sum
};

struct InverseArrays {
  // For each worker and unit: index in the next two arrays at which its bins begin, and their
  // number.
  const int64_t* begin = nullptr;
  const uint32_t* count = nullptr;
  const uint32_t* positions = nullptr;  // ascending; not read if all bins of a unit are present
  const ComplexFloat* coefficients = nullptr;
  int32_t workers = 1;
  InverseMode mode = InverseMode::kMean;
  float divisor = 1;
  float* out = nullptr;      // flat
  bool keeps_zeros = false;  // if true, imaginary parts of real coefficients must be 0
  // For each worker and unit, becomes 1 if a coefficient is above kLargestCoefficientKey or has an
  // imaginary part where it must be 0. The CPU refuses such a message, and the sum is meaningless;
  // otherwise unchanged. May be null.
  uint32_t* malformed = nullptr;
};

}  // namespace legacy::cuda
