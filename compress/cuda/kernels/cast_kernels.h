// Converts floats to half precision and bfloat16 and back on a GPU, to the same bits as cpu/cast.h,
// by rules for LaunchMap(). 6 bytes move per element, by vectors where the pointers allow it (16
// bytes of floats, 8 of the others). Rounding is to nearest, ties to even, and saturates. No value
// may be NaN.
#pragma once

#include <cstdint>

#include "compress/cpu/cast.h"
#include "compress/cuda/kernels/vector_kernels.h"

namespace legacy::cuda {

struct ToHalf {
  static constexpr bool kReadsOut = false;
  LEGACY_DEVICE uint16_t Of(float x, uint16_t) const { return cpu::FloatToHalf(x); }
};
struct FromHalf {
  static constexpr bool kReadsOut = false;
  LEGACY_DEVICE float Of(uint16_t x, float) const { return cpu::HalfToFloat(x); }
};
struct ToBfloat16 {
  static constexpr bool kReadsOut = false;
  LEGACY_DEVICE uint16_t Of(float x, uint16_t) const { return cpu::FloatToBfloat16(x); }
};
struct FromBfloat16 {
  static constexpr bool kReadsOut = false;
  LEGACY_DEVICE float Of(uint16_t x, float) const { return cpu::Bfloat16ToFloat(x); }
};

}  // namespace legacy::cuda
