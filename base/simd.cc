#include "base/simd.h"

#include <cstdlib>
#include <string>

#include "base/error.h"

namespace legacy::cpu {

std::string_view SimdName(Simd simd) {
  switch (simd) {
    case Simd::kAvx512:
      return "avx512";
    case Simd::kAvx2:
      return "avx2";
    case Simd::kPlain:
      break;
  }
  return "plain";
}

std::vector<Simd> UsableSimd() {
  std::vector<Simd> usable = {Simd::kPlain};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) {
    usable.push_back(Simd::kAvx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      usable.push_back(Simd::kAvx512);
    }
  }
#endif
  return usable;
}

Simd ChooseSimd(std::string_view request) {
  const std::vector<Simd> usable = UsableSimd();
  if (request.empty()) return usable.back();
  std::string allowed;
  for (const Simd simd : usable) {
    if (SimdName(simd) == request) return simd;
    if (!allowed.empty()) allowed += ", ";
    allowed += SimdName(simd);
  }
  throw Error("LEGACY_SIMD", std::string(request), allowed + " on this processor");
}

Simd ActiveSimd() {
  static const Simd active = [] {
    const char* request = std::getenv("LEGACY_SIMD");
    return ChooseSimd(request ? request : "");
  }();
  return active;
}

}  // namespace legacy::cpu
