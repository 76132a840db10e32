// cpu/cast.h on a GPU: half precision and bfloat16 from floats and back, the same bits, as rules
// for LaunchMap(). 6 bytes moved per element; by vectors where the pointers allow it (16 bytes of
// floats, 8 of the others). Halves and bfloat16s are the nearest, even on ties, and saturate. No
// value is NaN.
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
