#include "compress/bench/turns.h"

#include <time.h>

#include <algorithm>

#include "base/median.h"
#include "base/simd.h"
#include "compress/gradients/gradients.h"

namespace legacy::bench {
namespace {

LEGACY_INLINE int32_t OrAll(const float* values, int64_t n) {
  int32_t bits = 0;
  for (int64_t i = 0; i < n; ++i) bits |= __builtin_bit_cast(int32_t, values[i]);
  return bits;
}

LEGACY_INLINE void AddAll(const float* values, float* sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += values[i];
}

}  // namespace

void Report(benchmark::State& state, const char* counter, double value, std::optional<Aim> aim) {
  state.counters[counter] = value;
  if (!aim) return;
  state.counters["aim"] = aim->value;
  state.counters["reached"] = aim->at_most ? value <= aim->value : value >= aim->value;
}

double Now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<float> Draw(const std::string& kind, int64_t n) {
  return DrawGradient(kind + ":n=" + std::to_string(n));
}

void Read(std::span<const float> values) {
  benchmark::DoNotOptimize(
      cpu::Dispatch<OrAll>(cpu::ActiveSimd(), values.data(), std::ssize(values)));
}

void ReadTwoWriteOne(std::span<const float> values, std::span<float> sum) {
  cpu::Dispatch<AddAll>(cpu::ActiveSimd(), values.data(), sum.data(), std::ssize(sum));
  benchmark::DoNotOptimize(sum.data());
}

}  // namespace legacy::bench
