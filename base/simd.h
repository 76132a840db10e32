// One choice for the process, made at run time, says which instructions the kernels use. Every
// choice gives the same bits.
//
// Loops that compilers vectorise are written once and compiled for each choice by Dispatch().
// Where a loop needs an instruction that no compiler finds (compaction by a mask), it is written
// with intrinsics: std::experimental::simd has no compress, and Google Highway, which does, needs
// 1.1 for what is used here while stable distributions still ship 1.0.
#pragma once

#include <string_view>
#include <vector>

#define LEGACY_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
// These functions are compiled for more than the baseline, and may only be called where the
// processor has it.
#define LEGACY_AVX2 __attribute__((target("avx2,popcnt")))
#define LEGACY_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))
#endif

namespace legacy::cpu {

enum class Simd { kPlain, kAvx2, kAvx512 };

// Returns the name: "plain", "avx2", "avx512".
std::string_view SimdName(Simd simd);

// Returns what this processor can run, plain first.
std::vector<Simd> UsableSimd();

// Returns the choice of that name, or the best usable one where `request` is empty. Throws Error
// for a name that is unknown or that this processor cannot run.
Simd ChooseSimd(std::string_view request);

// Returns ChooseSimd() of the environment variable LEGACY_SIMD, which is read once.
Simd ActiveSimd();

#if defined(__x86_64__)

template <auto kBody, typename... Args>
LEGACY_AVX2 auto RunAvx2(Args... args) {
  return kBody(args...);
}

template <auto kBody, typename... Args>
LEGACY_AVX512 auto RunAvx512(Args... args) {
  return kBody(args...);
}

#endif

// Returns kBody(args...), compiled for `simd`. kBody is a LEGACY_INLINE function on pointers and
// numbers: what it calls must be inlined as well, or it runs on the baseline.
template <auto kBody, typename... Args>
auto Dispatch([[maybe_unused]] Simd simd, Args... args) {
#if defined(__x86_64__)
  if (simd == Simd::kAvx512) return RunAvx512<kBody>(args...);
  if (simd == Simd::kAvx2) return RunAvx2<kBody>(args...);
#endif
  return kBody(args...);
}

}  // namespace legacy::cpu
