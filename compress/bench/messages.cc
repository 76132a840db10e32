// Whole messages of codecs, with headers and checks, compared with a loop that only reads as many
// values. FFT sparsification is also compared with LibTorch's.
#include <benchmark/benchmark.h>

#include <optional>
#include <vector>

#include "compress/bench/turns.h"
#include "compress/codec.h"
#include "compress/cpu/spectrum.h"
#include "compress/cpu/topk.h"
#ifdef LEGACY_BENCH_TORCH
#include "compress/bench/peers.h"
#endif

namespace legacy::bench {
namespace {

constexpr double kDensity = 0.01;
constexpr double kTheta = 0.85;

// Without a given parameter, the codec's own default is used.
CodecContext Context(const Codec& codec, std::optional<double> parameter) {
  CodecContext context;
  context.parameter = parameter.value_or(codec.Parameter().fallback);
  return context;
}

void EncodeMessage(benchmark::State& state, const char* text,
                   std::optional<double> parameter = {}) {
  const auto codec = MakeCodec(text);
  const CodecContext context = Context(*codec, parameter);
  const auto values = Draw("laplace", state.range(0));
  CompareWithRead(state, values, {},
                  [&] { benchmark::DoNotOptimize(codec->Encode(values, context)); });
}

void DecodeAdd(benchmark::State& state, const char* text, std::optional<double> parameter = {}) {
  const auto codec = MakeCodec(text);
  const CodecContext context = Context(*codec, parameter);
  const auto values = Draw("laplace", state.range(0));
  const Message message = codec->Encode(values, context);
  std::vector<float> sum(values.size());
  CompareWithRead(state, values, {}, [&] {
    codec->DecodeAdd(message.bytes, context, sum);
    benchmark::DoNotOptimize(sum.data());
  });
}

// -------------------------------------------------------------------------------------------------
// The two parts of the FFT codec.

struct Bins {
  explicit Bins(int64_t n)
      : values(Draw("laplace", n)), re(plan.Bins(n)), im(re.size()), power(re.size()) {}
  void Forward() { plan.Forward(values, 1, re.data(), im.data(), power.data()); }

  const cpu::SpectrumPlan plan{4096};
  const std::vector<float> values;
  std::vector<float> re, im, power;
};

void Spectrum(benchmark::State& state) {
  Bins bins(state.range(0));
  CompareWithRead(state, bins.values, {}, [&] {
    bins.Forward();
    benchmark::DoNotOptimize(bins.power.data());
  });
}

void SelectBins(benchmark::State& state) {
  Bins bins(state.range(0));
  bins.Forward();
  const auto kept = static_cast<int64_t>((1 - kTheta) * static_cast<double>(bins.power.size()));
  CompareWithRead(state, bins.values, {},
                  [&] { benchmark::DoNotOptimize(cpu::SelectTopK(bins.power, kept)); });
}

#ifdef LEGACY_BENCH_TORCH

void EncodeFftAndTorch(benchmark::State& state, std::optional<Aim> aim) {
  const int64_t n = state.range(0);
  const auto kept = static_cast<int64_t>((1 - kTheta) * (static_cast<double>(n) / 2 + 1));
  const auto codec = MakeCodec("fft");
  const CodecContext context = Context(*codec, kTheta);
  const auto values = Draw("laplace", n);
  Compare(
      state, n, "times_torch_rfft_topk", aim, Nothing,
      [&] { benchmark::DoNotOptimize(codec->Encode(values, context)); },
      [&] { TorchSpectrum(values, kept); });
}

#endif

#define LEGACY_SIZES Arg(1 << 20)->Arg(1 << 24)->LEGACY_TURNS
BENCHMARK_CAPTURE(EncodeMessage, dense, "dense")->LEGACY_SIZES;
BENCHMARK_CAPTURE(EncodeMessage, fp16, "fp16")->LEGACY_SIZES;
BENCHMARK_CAPTURE(EncodeMessage, bf16, "bf16")->LEGACY_SIZES;
BENCHMARK_CAPTURE(EncodeMessage, topk, "topk", kDensity)->LEGACY_SIZES;
BENCHMARK_CAPTURE(EncodeMessage, randomk, "randomk", kDensity)->LEGACY_SIZES;
BENCHMARK_CAPTURE(DecodeAdd, dense, "dense")->LEGACY_SIZES;
BENCHMARK_CAPTURE(DecodeAdd, fp16, "fp16")->LEGACY_SIZES;
BENCHMARK_CAPTURE(DecodeAdd, bf16, "bf16")->LEGACY_SIZES;
BENCHMARK_CAPTURE(DecodeAdd, qsgd4, "qsgd")->LEGACY_SIZES;
BENCHMARK_CAPTURE(DecodeAdd, sign, "sign")->LEGACY_SIZES;
BENCHMARK_CAPTURE(DecodeAdd, topk, "topk", kDensity)->LEGACY_SIZES;
BENCHMARK_CAPTURE(DecodeAdd, randomk, "randomk", kDensity)->LEGACY_SIZES;
#undef LEGACY_SIZES

#define LEGACY_SIZES Arg(1 << 22)->Arg(1 << 24)
BENCHMARK_CAPTURE(EncodeMessage, fft, "fft", kTheta)->LEGACY_SIZES->LEGACY_TURNS;
BENCHMARK_CAPTURE(EncodeMessage, fft_fp32, "fft+fp32", kTheta)->LEGACY_SIZES->LEGACY_TURNS;
BENCHMARK_CAPTURE(EncodeMessage, fft_uniform_8, "fft+uniform:bits=8", kTheta)
    ->LEGACY_SIZES->LEGACY_TURNS;
BENCHMARK_CAPTURE(EncodeMessage, fft_rbf_8, "fft+rbf:bits=8", kTheta)->LEGACY_SIZES->LEGACY_TURNS;
BENCHMARK_CAPTURE(DecodeAdd, fft, "fft", kTheta)->LEGACY_SIZES->LEGACY_TURNS;
BENCHMARK(Spectrum)->LEGACY_SIZES->LEGACY_TURNS;
BENCHMARK(SelectBins)->LEGACY_SIZES->LEGACY_TURNS;
#ifdef LEGACY_BENCH_TORCH
LEGACY_AIM("EncodeFftAndTorch", EncodeFftAndTorch, AtLeast(4))
    ->LEGACY_SIZES->Iterations(kTurnsOfSlowPeers);
#endif
#undef LEGACY_SIZES

}  // namespace
}  // namespace legacy::bench
