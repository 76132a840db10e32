// Four neighbouring elements in one access of 16 bytes, where memory is aligned for it.
#pragma once

#include <cstdint>
#include <cstring>

#include "compress/cuda/block.h"

namespace legacy::cuda {

inline constexpr int kVector = 4;

LEGACY_DEVICE bool IsVectorAligned(const float* at) {
  return reinterpret_cast<uintptr_t>(at) % (kVector * sizeof(float)) == 0;
}

LEGACY_DEVICE void LoadVector(const float* from, float* to) {
#if defined(__CUDACC__)
  const float4 x = *reinterpret_cast<const float4*>(from);
  to[0] = x.x;
  to[1] = x.y;
  to[2] = x.z;
  to[3] = x.w;
#else
  std::memcpy(to, from, kVector * sizeof(float));
#endif
}

LEGACY_DEVICE void StoreVector(const float* from, float* to) {
#if defined(__CUDACC__)
  *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
#else
  std::memcpy(to, from, kVector * sizeof(float));
#endif
}

}  // namespace legacy::cuda
