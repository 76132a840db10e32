// Speed of FFT sparsification on one core, beside a plain read of the same memory and, where
// LibTorch is there, one long torch::fft::rfft with torch::topk of the magnitudes: what it takes
// without kernels of its own. items_per_second counts elements.
#include <benchmark/benchmark.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "compress/codec.h"
#include "compress/cpu/spectrum.h"
#include "compress/cpu/topk.h"
#include "compress/gradients/gradients.h"
#if defined(LEGACY_BENCH_TORCH)
#include "compress/bench_peers.h"
#endif

namespace legacy {
namespace {

constexpr double kTheta = 0.85;
constexpr int64_t kChunk = 4096;

// Laplace distributed, as gradients roughly are.
std::vector<float> Gradient(int64_t n) { return DrawGradient("laplace:n=" + std::to_string(n)); }

void CountElements(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

CodecContext Context() {
  CodecContext context;
  context.parameter = kTheta;
  return context;
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

void BM_Spectrum(benchmark::State& state) {
  const auto values = Gradient(state.range(0));
  const cpu::SpectrumPlan plan(kChunk);
  const auto bins = static_cast<size_t>(plan.Bins(state.range(0)));
  std::vector<float> re(bins), im(bins), power(bins);
  for (auto _ : state) {
    plan.Forward(values, 1, re.data(), im.data(), power.data());
    benchmark::DoNotOptimize(power.data());
  }
  CountElements(state);
}

void BM_SelectBins(benchmark::State& state) {
  const auto values = Gradient(state.range(0));
  const cpu::SpectrumPlan plan(kChunk);
  const auto bins = static_cast<size_t>(plan.Bins(state.range(0)));
  std::vector<float> re(bins), im(bins), power(bins);
  plan.Forward(values, 1, re.data(), im.data(), power.data());
  const auto kept = static_cast<int64_t>((1 - kTheta) * static_cast<double>(bins));
  for (auto _ : state) benchmark::DoNotOptimize(cpu::SelectTopK(power, kept));
  CountElements(state);
}

void Encode(benchmark::State& state, const char* name) {
  const auto codec = MakeCodec(name);
  const auto values = Gradient(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(codec->Encode(values, Context()));
  CountElements(state);
}

void Decode(benchmark::State& state, const char* name) {
  const auto codec = MakeCodec(name);
  const auto values = Gradient(state.range(0));
  const Message message = codec->Encode(values, Context());
  std::vector<float> sum(values.size());
  for (auto _ : state) {
    codec->DecodeAdd(message.bytes, Context(), sum);
    benchmark::DoNotOptimize(sum.data());
  }
  CountElements(state);
}

#if defined(LEGACY_BENCH_TORCH)
void BM_TorchRfftAndTopK(benchmark::State& state) {
  const auto values = Gradient(state.range(0));
  const auto kept =
      static_cast<int64_t>((1 - kTheta) * (static_cast<double>(state.range(0)) / 2 + 1));
  for (auto _ : state) bench::TorchSpectrum(values, kept);
  CountElements(state);
}
#endif

#define LEGACY_SIZES ->Arg(1 << 22)->Arg(1 << 24)->Unit(benchmark::kMicrosecond)
BENCHMARK(BM_ReadAbsoluteSum) LEGACY_SIZES;
BENCHMARK(BM_Spectrum) LEGACY_SIZES;
BENCHMARK(BM_SelectBins) LEGACY_SIZES;
BENCHMARK_CAPTURE(Encode, fft, "fft") LEGACY_SIZES;
BENCHMARK_CAPTURE(Encode, fft_fp32, "fft+fp32") LEGACY_SIZES;
BENCHMARK_CAPTURE(Encode, fft_uniform_8, "fft+uniform:bits=8") LEGACY_SIZES;
BENCHMARK_CAPTURE(Decode, fft, "fft") LEGACY_SIZES;
BENCHMARK_CAPTURE(Encode, fft_rbf_8, "fft+rbf:bits=8") LEGACY_SIZES;
#if defined(LEGACY_BENCH_TORCH)
BENCHMARK(BM_TorchRfftAndTopK) LEGACY_SIZES;
#endif
#undef LEGACY_SIZES

}  // namespace
}  // namespace legacy
