// Quantisers on a GPU write the same bits as those of compress/quantisers. One set of launches
// encodes many units (layers, of one worker or of several), fused with error feedback, or sums the
// decoded segments of several workers. quantise_kernels.h describes the kernels.
//
// Bytes moved per element, with codes of b bits:
//   encode, scales of buckets up to 4096 elements, natural:bits=9    4 + b / 8
//   encode, larger buckets or one scale of the unit                  8 + b / 8
//   the same with error feedback                                     12 + b / 8 and 20 + b / 8
//   decode of W workers                                              8 + W b / 8, or 4 + W b / 8
//
// Some quantisers run on the CPU only: qsgd:code=elias (the place of a code depends on all codes
// before it), mean (its sum has the order of the values), and rbf with range=calibrated or ema (its
// state is on the host).
//
// Nothing waits for the device, and the launches do not depend on the data: they can be captured in
// a CUDA graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cpu/stochastic.h"
#include "compress/cuda/kernels/coding/quantise_table.h"

namespace legacy::cuda {

// Pointers are to device memory.
struct QuantiseArrays {
  // Without error feedback: the values, and a null residual. With it: the gradient, or null if
  // `residual` already includes it; the residual becomes gradient + residual - decoded.
  const float* values = nullptr;
  float* residual = nullptr;
  std::byte* out = nullptr;  // aligned to 4 bytes; only the units' segments are written
  // result of MakeDrawSource() for each unit's key; may be null for quantisers that draw nothing
  const cpu::DrawSource* draws = nullptr;
  // For each unit, becomes 1 if a value is NaN or infinite, which makes its segment meaningless;
  // otherwise unchanged. May be null.
  uint32_t* non_finite = nullptr;
};

struct DequantiseArrays {
  const std::byte* in = nullptr;  // the first worker's segments, aligned to 4 bytes
  int64_t stride = 0;             // bytes from a worker to the next; a multiple of 4
  int32_t workers = 1;
  float* sum = nullptr;  // sum[i] += decoded value, worker after worker; then sum[i] /= divisor
  float divisor = 1;
  // Starts sums at `start` instead of at the contents of `sum`, which are then not read. To start
  // at -0 leaves a decoded -0 as it is.
  bool overwrite = false;
  float start = 0;
  // For each worker and unit, becomes 1 if a segment is malformed, which makes the sum meaningless;
  // otherwise unchanged. May be null. Detected are invalid scales, codes above the largest, codes
  // that contradict their scale, and padding. Not detected is what takes a count of all codes:
  // onebit's means where no bit or every bit is set, a greatest exponent of natural:bits=8 that no
  // code has, and a scale of mx or fp8 that no code reaches.
  uint32_t* malformed = nullptr;
};

}  // namespace legacy::cuda
