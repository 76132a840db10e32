// Quantisers on a GPU write the segments of compress/quantisers, to the bit, for many units
// (layers, of one worker or of several) in one set of launches, fused with error feedback, and sum
// what segments of several workers stand for. quantise_kernels.h says how.
//
// Bytes moved per element, with codes of b bits:
//   encode, scales of buckets up to 4096 elements, natural:bits=9    4 + b / 8
//   encode, larger buckets or one scale of the unit                  8 + b / 8
//   the same with error feedback                                     12 + b / 8 and 20 + b / 8
//   decode of W workers                                              8 + W b / 8, or 4 + W b / 8
//
// Not here, but on the CPU alone: qsgd:code=elias (where a code begins depends on all before it),
// mean (its sum has the order of the values), and rbf with range=calibrated or ema (a state of the
// host).
//
// Nothing waits for the device, and the launches do not depend on the data: they can be captured in
// a CUDA graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cpu/stochastic.h"
#include "compress/cuda/kernels/coding/quantise_table.h"

namespace legacy::cuda {

// QuantiseArrays are in the memory of the device.
struct QuantiseArrays {
  // Without error feedback: the values, and null. With it: the gradient, or null where `residual`
  // has it already; residual = gradient + residual - decoded.
  const float* values = nullptr;
  float* residual = nullptr;
  std::byte* out = nullptr;  // aligned to 4 bytes; exactly the units' segments are written
  // MakeDrawSource() of each unit's key. May be null where nothing is drawn.
  const cpu::DrawSource* draws = nullptr;
  // For each unit: becomes 1 where a value is NaN or infinite, whose segment then means nothing,
  // and stays as it is elsewhere. May be null.
  uint32_t* non_finite = nullptr;
};

struct DequantiseArrays {
  const std::byte* in = nullptr;  // of the first worker, aligned to 4 bytes
  int64_t stride = 0;             // bytes from a worker to the next; a multiple of 4
  int32_t workers = 1;
  float* sum = nullptr;  // sum[i] += decoded value, worker after worker; then sum[i] /= divisor
  float divisor = 1;
  bool overwrite = false;  // sums begin at 0 rather than with what is there, which is not read
  // For each worker its units: becomes 1 where a segment is malformed, so that the sum means
  // nothing, and stays as it is elsewhere. May be null. Seen are scales that are none, codes above
  // the largest, codes that cannot be beside the scale, and padding; not seen is what takes a count
  // of all codes: onebit's means where no or every bit is set, a greatest exponent of
  // natural:bits=8 that is not there.
  uint32_t* malformed = nullptr;
};

}  // namespace legacy::cuda
