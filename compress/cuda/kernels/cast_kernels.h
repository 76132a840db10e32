// Kernels of cast.h: rules of cpu/cast.h for LaunchMap().
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
