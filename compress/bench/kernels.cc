// Kernels on one core: Top-K, histogram, reductions, Random-K's positions, sums of sparse vectors.
// `missed` is the fraction of Top-K's brackets that missed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compress/bench/turns.h"
#include "compress/cpu/histogram.h"
#include "compress/cpu/random_subset.h"
#include "compress/cpu/sparse_sum.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#ifdef LEGACY_BENCH_TORCH
#include "compress/bench/peers.h"
#endif

namespace legacy::bench {
namespace {

int64_t Kept(int64_t n, int64_t per_mille) { return std::max<int64_t>(1, n * per_mille / 1000); }

// -------------------------------------------------------------------------------------------------
// Top-K. Arguments: elements, and the kept ones in thousandths.

// The vectors of error feedback.
struct Feedback {
  Feedback(const std::string& kind, int64_t n)
      : gradient(Draw(kind, n)), saved(gradient.rbegin(), gradient.rend()), residual(saved) {}
  void Restore() { std::ranges::copy(saved, residual.begin()); }

  std::vector<float> gradient, saved, residual;
};

enum class Hint { kNone, kLastThreshold };

void TopKFeedback(benchmark::State& state, const char* kind, cpu::Simd simd,
                  Hint hint = Hint::kNone, std::optional<Aim> aim = {}) {
  const int64_t n = state.range(0);
  Feedback data(kind, n);
  cpu::TopKSelector selector(simd);
  cpu::TopKSegment all = {0, n, Kept(n, state.range(1))};
  if (hint == Hint::kLastThreshold) {
    all.hint = selector.Compensate(data.gradient, data.residual, {&all, 1}).thresholds[0];
  }
  int64_t missed = 0;
  Compare(
      state, n, "share_of_read2_write1", aim, [&] { data.Restore(); },
      [&] {
        missed += selector.Compensate(data.gradient, data.residual, {&all, 1}).stats.missed;
      },
      [&] { ReadTwoWriteOne(data.gradient, data.residual); });
  state.counters["missed"] = static_cast<double>(missed) / static_cast<double>(state.iterations());
}

void TopK(benchmark::State& state, const char* kind) {
  const int64_t n = state.range(0);
  const auto values = Draw(kind, n);
  cpu::TopKSelector selector;
  const cpu::TopKSegment all = {0, n, Kept(n, state.range(1))};
  CompareWithRead(state, values, {}, [&] {
    benchmark::DoNotOptimize(selector.Select(values, {&all, 1}));
  });
}

// Selects the same positions, except for ties, with the standard library as the yardstick.
void TopKAndNthElement(benchmark::State& state) {
  const int64_t n = state.range(0), k = Kept(n, state.range(1));
  const auto values = Draw("laplace", n);
  std::vector<float> magnitudes(n);
  std::vector<uint32_t> kept;
  cpu::TopKSelector selector;
  const cpu::TopKSegment all = {0, n, k};
  Compare(
      state, n, "times_nth_element", {}, Nothing,
      [&] {
        benchmark::DoNotOptimize(selector.Select(values, {&all, 1}));
      },
      [&] {
        std::ranges::transform(values, magnitudes.begin(), [](float x) { return std::abs(x); });
        std::ranges::nth_element(magnitudes, magnitudes.begin() + k - 1, std::greater());
        const float threshold = magnitudes[k - 1];
        kept.clear();
        for (int64_t i = 0; i < n; ++i) {
          if (std::abs(values[i]) >= threshold) kept.push_back(static_cast<uint32_t>(i));
        }
        benchmark::DoNotOptimize(kept.data());
      });
}

// Selects from windows of one long vector, so that every sample differs.
void TopKMisses(benchmark::State& state, const char* kind) {
  constexpr int64_t kWindow = 1 << 17, kStep = 101;
  const auto values = Draw(kind, kWindow + state.max_iterations * kStep);
  cpu::TopKSelector selector;
  const cpu::TopKSegment all = {0, kWindow, Kept(kWindow, state.range(0))};
  int64_t missed = 0, begin = 0;
  for (auto _ : state) {
    missed += selector.Select(std::span(values).subspan(begin, kWindow), {&all, 1}).stats.missed;
    begin += kStep;
  }
  state.counters["missed"] = static_cast<double>(missed) / static_cast<double>(state.iterations());
  state.SetItemsProcessed(state.iterations() * kWindow);
}

// Sizes of the tensors of ResNet-50 (He et al., CVPR 2016) as torchvision builds it: 161 tensors,
// 25,557,032 elements. Batch norm has two vectors after each convolution.
std::vector<int64_t> ResNet50Sizes() {
  std::vector<int64_t> sizes;
  const auto convolution = [&](int64_t in, int64_t out, int64_t side) {
    sizes.insert(sizes.end(), {in * out * side * side, out, out});
  };
  convolution(3, 64, 7);
  int64_t in = 64;
  constexpr std::pair<int64_t, int> kStages[] = {{64, 3}, {128, 4}, {256, 6}, {512, 3}};
  for (const auto& [width, blocks] : kStages) {
    for (int block = 0; block < blocks; ++block) {
      convolution(in, width, 1);
      convolution(width, width, 3);
      convolution(width, 4 * width, 1);
      if (block == 0) convolution(in, 4 * width, 1);
      in = 4 * width;
    }
  }
  sizes.insert(sizes.end(), {in * 1000, 1000});
  return sizes;
}

// Argument: kept ones in thousandths.
void TopKResNet50(benchmark::State& state, std::optional<Aim> aim) {
  std::vector<cpu::TopKSegment> layers;
  int64_t n = 0, kept = 0;
  for (const int64_t size : ResNet50Sizes()) {
    layers.push_back({n, size, Kept(size, state.range(0))});
    n += size;
    kept += layers.back().k;
  }
  Feedback data("laplace", n);
  cpu::TopKSelector by_layer, flat;
  const cpu::TopKSegment all = {0, n, kept};
  const Medians medians = TakeTurns(
      state, [&] { data.Restore(); },
      [&] { by_layer.Compensate(data.gradient, data.residual, layers); },
      [&] {
        flat.Compensate(data.gradient, data.residual, {&all, 1});
      });
  Report(state, "time_of_flat", medians.kernel / medians.yardstick, aim);
  state.SetItemsProcessed(state.iterations() * n);
  state.counters["layers"] = static_cast<double>(layers.size());
}

// -------------------------------------------------------------------------------------------------
// The others

void Histogram(benchmark::State& state, const char* kind, std::optional<Aim> aim = {}) {
  const auto values = Draw(kind, state.range(0));
  cpu::MagnitudeHistogram histogram;
  Compare(
      state, std::ssize(values), "share_of_read", aim, [&] { histogram.Clear(); },
      [&] { histogram.Add(values); }, [&] { Read(values); });
}

void Reduce(benchmark::State& state, double (*kernel)(std::span<const float>)) {
  const auto values = Draw("laplace", state.range(0));
  CompareWithRead(state, values, {}, [&] { benchmark::DoNotOptimize(kernel(values)); });
}

double SquaredNorm(std::span<const float> values) { return cpu::SquaredNorm(values); }
double AbsSum(std::span<const float> values) { return cpu::AbsSum(values); }
double AbsMax(std::span<const float> values) { return cpu::AbsMax(values); }
double FirstNonFinite(std::span<const float> values) {
  return static_cast<double>(cpu::FirstNonFinite(values).value_or(-1));
}

void RandomSubset(benchmark::State& state) {
  const int64_t n = state.range(0), k = Kept(n, state.range(1));
  const std::vector<float> values(n);
  uint64_t step = 0;
  CompareWithRead(state, values, {}, [&] {
    const RandomStream stream({.step = ++step});
    benchmark::DoNotOptimize(cpu::RandomSubset(stream, n, k).data());
  });
}

// Sums the vectors of eight workers. The yardstick adds one worker after the other.
void SumSparse(benchmark::State& state) {
  constexpr int kWorkers = 8;
  const int64_t n = state.range(0), k = Kept(n, state.range(1));
  std::vector<std::vector<uint32_t>> indices;
  const std::vector<float> values = Draw("laplace", k);
  for (uint32_t w = 0; w < kWorkers; ++w) {
    indices.push_back(cpu::RandomSubset(RandomStream({.worker = w}), n, k));
  }
  std::vector<cpu::SparseVector> workers;
  for (const auto& positions : indices) workers.push_back({positions, values});
  std::vector<float> sum(n);
  Compare(
      state, n, "times_in_turn", {}, [&] { std::ranges::fill(sum, 0.0f); },
      [&] { cpu::SumSparse(workers, sum, kWorkers); },
      [&] {
        for (const auto& worker : workers) {
          for (int64_t i = 0; i < k; ++i) sum[worker.indices[i]] += worker.values[i];
        }
        for (float& x : sum) x /= kWorkers;
        benchmark::DoNotOptimize(sum.data());
      });
}

#ifdef LEGACY_BENCH_TORCH

void TopKFeedbackAndTorch(benchmark::State& state, std::optional<Aim> aim) {
  const int64_t n = state.range(0), k = Kept(n, state.range(1));
  Feedback data("laplace", n);
  std::vector<float> magnitudes = data.gradient;
  for (float& x : magnitudes) x = std::abs(x);
  cpu::TopKSelector selector;
  const cpu::TopKSegment all = {0, n, k};
  Compare(
      state, n, "times_torch_topk", aim, [&] { data.Restore(); },
      [&] {
        selector.Compensate(data.gradient, data.residual, {&all, 1});
      },
      [&] { TorchTopK(magnitudes, k); });
}

void RandomSubsetAndTorch(benchmark::State& state, std::optional<Aim> aim) {
  const int64_t n = state.range(0), k = Kept(n, state.range(1));
  uint64_t step = 0;
  Compare(
      state, n, "times_torch_mask", aim, Nothing,
      [&] {
        const RandomStream stream({.step = ++step});
        benchmark::DoNotOptimize(cpu::RandomSubset(stream, n, k).data());
      },
      [&] { TorchRandomMask(n, k); });
}

#endif

#define LEGACY_SIZES Arg(1 << 20)->Arg(1 << 24)->LEGACY_TURNS
#define LEGACY_SPARSE ArgsProduct({{1 << 20, 1 << 24}, {1, 10, 100}})->LEGACY_TURNS
#define LEGACY_ONE_PERCENT Args({1 << 24, 10})
BENCHMARK_CAPTURE(TopKFeedback, laplace, "laplace", cpu::ActiveSimd())->LEGACY_SPARSE;
BENCHMARK_CAPTURE(TopKFeedback, student_t, "student-t", cpu::ActiveSimd())->LEGACY_SPARSE;
BENCHMARK_CAPTURE(TopKFeedback, zeros, "zeros", cpu::ActiveSimd())->LEGACY_SPARSE;
BENCHMARK_CAPTURE(TopKFeedback, constant, "constant", cpu::ActiveSimd())->LEGACY_SPARSE;
BENCHMARK_CAPTURE(TopKFeedback, hint, "laplace", cpu::ActiveSimd(), Hint::kLastThreshold)
    ->LEGACY_SPARSE;
BENCHMARK_CAPTURE(TopKFeedback, plain, "laplace", cpu::Simd::kPlain)
    ->Args({1 << 24, 10})
    ->LEGACY_TURNS;
BENCHMARK_CAPTURE(TopK, laplace, "laplace")->LEGACY_SPARSE;
BENCHMARK_CAPTURE(TopK, constant, "constant")->LEGACY_SPARSE;
BENCHMARK(TopKAndNthElement)->LEGACY_SPARSE;
BENCHMARK_CAPTURE(TopKMisses, laplace, "laplace")->Arg(1)->Arg(10)->Arg(100)->Iterations(4000);
BENCHMARK_CAPTURE(TopKMisses, student_t, "student-t")->Arg(1)->Arg(10)->Arg(100)->Iterations(4000);
BENCHMARK_CAPTURE(Histogram, laplace, "laplace")->LEGACY_SIZES;
BENCHMARK_CAPTURE(Histogram, zeros, "zeros")->LEGACY_SIZES;
BENCHMARK_CAPTURE(Histogram, constant, "constant")->LEGACY_SIZES;
BENCHMARK_CAPTURE(Reduce, squared_norm, SquaredNorm)->LEGACY_SIZES;
BENCHMARK_CAPTURE(Reduce, abs_sum, AbsSum)->LEGACY_SIZES;
BENCHMARK_CAPTURE(Reduce, abs_max, AbsMax)->LEGACY_SIZES;
BENCHMARK_CAPTURE(Reduce, first_non_finite, FirstNonFinite)->LEGACY_SIZES;
BENCHMARK(RandomSubset)->LEGACY_SPARSE;
BENCHMARK(SumSparse)->LEGACY_SPARSE;

LEGACY_AIM("TopKFeedback/laplace", TopKFeedback, "laplace", cpu::ActiveSimd(), Hint::kNone,
           AtLeast(0.5))
    ->LEGACY_ONE_PERCENT;
LEGACY_AIM("TopKFeedback/student_t", TopKFeedback, "student-t", cpu::ActiveSimd(), Hint::kNone,
           AtLeast(0.5))
    ->LEGACY_ONE_PERCENT;
LEGACY_AIM("TopKFeedback/zeros", TopKFeedback, "zeros", cpu::ActiveSimd(), Hint::kNone,
           AtLeast(0.5))
    ->LEGACY_ONE_PERCENT;
LEGACY_AIM("TopKFeedback/constant", TopKFeedback, "constant", cpu::ActiveSimd(), Hint::kNone,
           AtLeast(0.5))
    ->LEGACY_ONE_PERCENT;
LEGACY_AIM("TopKResNet50", TopKResNet50, AtMost(1.3))->Arg(1)->Arg(10)->Arg(100);
LEGACY_AIM("Histogram/laplace", Histogram, "laplace", AtLeast(0.5))->Arg(1 << 24);
LEGACY_AIM("Histogram/zeros", Histogram, "zeros", AtLeast(0.5))->Arg(1 << 24);
LEGACY_AIM("Histogram/constant", Histogram, "constant", AtLeast(0.5))->Arg(1 << 24);
#ifdef LEGACY_BENCH_TORCH
BENCHMARK_CAPTURE(TopKFeedbackAndTorch, laplace, {})->LEGACY_SPARSE->Iterations(kTurnsOfSlowPeers);
BENCHMARK_CAPTURE(RandomSubsetAndTorch, positions, {})
    ->LEGACY_SPARSE->Iterations(kTurnsOfSlowPeers);
LEGACY_AIM("TopKFeedbackAndTorch", TopKFeedbackAndTorch, AtLeast(40))
    ->LEGACY_ONE_PERCENT->Iterations(kTurnsOfSlowPeers);
LEGACY_AIM("RandomSubsetAndTorch", RandomSubsetAndTorch, AtLeast(20))
    ->LEGACY_ONE_PERCENT->Iterations(kTurnsOfSlowPeers);
#endif
#undef LEGACY_ONE_PERCENT
#undef LEGACY_SPARSE
#undef LEGACY_SIZES

}  // namespace
}  // namespace legacy::bench
