// Speed of the codecs' kernels on one core, beside what they are measured against: a plain read of
// the same memory, and Top-K by std::nth_element on a copy of the magnitudes. items_per_second
// counts elements.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "compress/codec.h"
#include "compress/cpu/cast.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/gradients/gradients.h"

namespace legacy {
namespace {

constexpr double kDensity = 0.01;

// Laplace distributed, as gradients roughly are.
std::vector<float> Gradient(int64_t n) { return DrawGradient("laplace:n=" + std::to_string(n)); }

void CountElements(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_ReadAbsoluteSum(benchmark::State& state) {
  const auto values = Gradient(state.range(0));
  for (auto _ : state) {
    float lanes[16] = {};
    for (size_t i = 0; i + 16 <= values.size(); i += 16) {
      for (int lane = 0; lane < 16; ++lane) lanes[lane] += std::abs(values[i + lane]);
    }
    benchmark::DoNotOptimize(std::accumulate(lanes, lanes + 16, 0.0f));
  }
  CountElements(state);
}

void BM_TopKNthElement(benchmark::State& state) {
  const auto values = Gradient(state.range(0));
  const auto k = static_cast<int64_t>(kDensity * static_cast<double>(values.size()));
  std::vector<float> magnitudes(values.size());
  std::vector<uint32_t> kept;
  for (auto _ : state) {
    std::ranges::transform(values, magnitudes.begin(), [](float x) { return std::abs(x); });
    std::ranges::nth_element(magnitudes, magnitudes.begin() + k - 1, std::greater());
    const float threshold = magnitudes[k - 1];
    kept.clear();
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::abs(values[i]) >= threshold) kept.push_back(static_cast<uint32_t>(i));
    }
    benchmark::DoNotOptimize(kept.data());
  }
  CountElements(state);
}

void BM_TopKSelect(benchmark::State& state) {
  const auto values = Gradient(state.range(0));
  const auto k = static_cast<int64_t>(kDensity * static_cast<double>(values.size()));
  for (auto _ : state) benchmark::DoNotOptimize(cpu::SelectTopK(values, k));
  CountElements(state);
}

void BM_TopKSelectConstant(benchmark::State& state) {
  const std::vector<float> values(state.range(0), 0.5f);
  const auto k = static_cast<int64_t>(kDensity * static_cast<double>(values.size()));
  for (auto _ : state) benchmark::DoNotOptimize(cpu::SelectTopK(values, k));
  CountElements(state);
}

void BM_FirstNonFinite(benchmark::State& state) {
  const auto values = Gradient(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(cpu::FirstNonFinite(values));
  CountElements(state);
}

void BM_EncodeHalf(benchmark::State& state) {
  const auto values = Gradient(state.range(0));
  std::vector<std::byte> out(2 * values.size());
  for (auto _ : state) {
    cpu::EncodeHalf(values, out);
    benchmark::DoNotOptimize(out.data());
  }
  CountElements(state);
}

void Encode(benchmark::State& state, const char* name) {
  const auto codec = MakeCodec(name);
  const auto values = Gradient(state.range(0));
  CodecContext context;
  context.parameter = kDensity;
  for (auto _ : state) benchmark::DoNotOptimize(codec->Encode(values, context));
  CountElements(state);
}

void Decode(benchmark::State& state, const char* name) {
  const auto codec = MakeCodec(name);
  const auto values = Gradient(state.range(0));
  CodecContext context;
  context.parameter = kDensity;
  const Message message = codec->Encode(values, context);
  std::vector<float> sum(values.size());
  for (auto _ : state) {
    codec->DecodeAdd(message.bytes, context, sum);
    benchmark::DoNotOptimize(sum.data());
  }
  CountElements(state);
}

#define LEGACY_SIZES ->Arg(1 << 20)->Arg(1 << 24)->Unit(benchmark::kMicrosecond)
BENCHMARK(BM_ReadAbsoluteSum) LEGACY_SIZES;
BENCHMARK(BM_TopKNthElement) LEGACY_SIZES;
BENCHMARK(BM_TopKSelect) LEGACY_SIZES;
BENCHMARK(BM_TopKSelectConstant) LEGACY_SIZES;
BENCHMARK(BM_FirstNonFinite) LEGACY_SIZES;
BENCHMARK(BM_EncodeHalf) LEGACY_SIZES;
BENCHMARK_CAPTURE(Encode, dense, "dense") LEGACY_SIZES;
BENCHMARK_CAPTURE(Encode, fp16, "fp16") LEGACY_SIZES;
BENCHMARK_CAPTURE(Encode, topk, "topk") LEGACY_SIZES;
BENCHMARK_CAPTURE(Encode, randomk, "randomk") LEGACY_SIZES;
BENCHMARK_CAPTURE(Decode, dense, "dense") LEGACY_SIZES;
BENCHMARK_CAPTURE(Decode, fp16, "fp16") LEGACY_SIZES;
BENCHMARK_CAPTURE(Decode, topk, "topk") LEGACY_SIZES;
BENCHMARK_CAPTURE(Decode, randomk, "randomk") LEGACY_SIZES;
#undef LEGACY_SIZES

}  // namespace
}  // namespace legacy
