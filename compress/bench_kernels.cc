// Speed of the sparsification kernels on one core. Every benchmark times a kernel and a yardstick in
// turns and reports the kernel's median time with the counters
//
//   share_of_X   median time of the loop X, which moves as much memory, / the kernel's: 1 is ideal
//   times_X      median time of X, another way to the same result, / the kernel's
//   missed       share of the Top-K's brackets that missed
//
// so that what else the machine does falls on both. items_per_second counts elements.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compress/cpu/histogram.h"
#include "compress/cpu/random_subset.h"
#include "compress/cpu/sparse_sum.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/gradients/gradients.h"
#ifdef LEGACY_BENCH_TORCH
#include "compress/bench_peers.h"
#endif

namespace legacy {
namespace {

constexpr int kTurns = 21;
constexpr int kTurnsOfSlowPeers = 5;

int64_t Kept(int64_t n, int64_t per_mille) { return std::max<int64_t>(1, n * per_mille / 1000); }

double Median(std::vector<double>& seconds) {
  const auto middle = seconds.begin() + std::ssize(seconds) / 2;
  std::ranges::nth_element(seconds, middle);
  return *middle;
}

// Time that this thread had a core: what else the machine runs does not count.
double Now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <typename Work>
double Seconds(Work work) {
  const double begin = Now();
  work();
  return Now() - begin;
}

// Times both in turns; before each `prepare`, untimed.
template <typename Prepare, typename Kernel, typename Yardstick>
void Compare(benchmark::State& state, int64_t n, const char* counter, Prepare prepare,
             Kernel kernel, Yardstick yardstick) {
  std::vector<double> ours, theirs;
  for (auto _ : state) {
    prepare();
    theirs.push_back(Seconds(yardstick));
    prepare();
    ours.push_back(Seconds(kernel));
    state.SetIterationTime(ours.back());
  }
  const double median = Median(ours);
  state.counters["median_ms"] = 1e3 * median;
  state.counters["yardstick_ms"] = 1e3 * Median(theirs);
  state.counters[counter] = Median(theirs) / median;
  state.SetItemsProcessed(state.iterations() * n);
}

void Nothing() {}

std::vector<float> Draw(const std::string& kind, int64_t n) {
  return DrawGradient(kind + ":n=" + std::to_string(n));
}

// -------------------------------------------------------------------------------------------------
// Loops that move as much memory as the kernels and do nothing else.

LEGACY_INLINE int32_t OrAll(const float* values, int64_t n) {
  int32_t bits = 0;
  for (int64_t i = 0; i < n; ++i) bits |= __builtin_bit_cast(int32_t, values[i]);
  return bits;
}

LEGACY_INLINE void AddAll(const float* values, float* sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += values[i];
}

void Read(std::span<const float> values) {
  benchmark::DoNotOptimize(
      cpu::Dispatch<OrAll>(cpu::ActiveSimd(), values.data(), std::ssize(values)));
}

void ReadTwoWriteOne(std::span<const float> values, std::span<float> sum) {
  cpu::Dispatch<AddAll>(cpu::ActiveSimd(), values.data(), sum.data(), std::ssize(sum));
  benchmark::DoNotOptimize(sum.data());
}

// -------------------------------------------------------------------------------------------------
// Top-K. Arguments: elements, kept ones in thousandths.

// Error feedback's vectors.
struct Feedback {
  Feedback(const std::string& kind, int64_t n)
      : gradient(Draw(kind, n)), saved(gradient.rbegin(), gradient.rend()), residual(saved) {}
  void Restore() { std::ranges::copy(saved, residual.begin()); }

  std::vector<float> gradient, saved, residual;
};

enum class Hint { kNone, kLastThreshold };

void TopKFeedback(benchmark::State& state, const char* kind, cpu::Simd simd,
                  Hint hint = Hint::kNone) {
  const int64_t n = state.range(0);
  Feedback data(kind, n);
  cpu::TopKSelector selector(simd);
  cpu::TopKSegment all = {0, n, Kept(n, state.range(1))};
  if (hint == Hint::kLastThreshold) {
    all.hint = selector.Compensate(data.gradient, data.residual, {&all, 1}).thresholds[0];
  }
  int64_t missed = 0;
  Compare(
      state, n, "share_of_read2_write1", [&] { data.Restore(); },
      [&] {
        missed += selector.Compensate(data.gradient, data.residual, {&all, 1}).stats.missed;
      },
      [&] { ReadTwoWriteOne(data.gradient, data.residual); });
  state.counters["missed"] = static_cast<double>(missed) / static_cast<double>(state.iterations());
}

void TopK(benchmark::State& state) {
  const int64_t n = state.range(0);
  const auto values = Draw("laplace", n);
  cpu::TopKSelector selector;
  const cpu::TopKSegment all = {0, n, Kept(n, state.range(1))};
  Compare(
      state, n, "share_of_read", Nothing,
      [&] {
        benchmark::DoNotOptimize(selector.Select(values, {&all, 1}));
      },
      [&] { Read(values); });
}

// Windows of one long vector, so that every sample is another one.
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

void TopKResNet50(benchmark::State& state) {
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
  Compare(
      state, n, "share_of_flat", [&] { data.Restore(); },
      [&] { by_layer.Compensate(data.gradient, data.residual, layers); },
      [&] {
        flat.Compensate(data.gradient, data.residual, {&all, 1});
      });
  state.counters["layers"] = static_cast<double>(layers.size());
}

// -------------------------------------------------------------------------------------------------
// The others

void Histogram(benchmark::State& state, const char* kind) {
  const auto values = Draw(kind, state.range(0));
  cpu::MagnitudeHistogram histogram;
  Compare(
      state, std::ssize(values), "share_of_read", [&] { histogram.Clear(); },
      [&] { histogram.Add(values); }, [&] { Read(values); });
}

void Reduce(benchmark::State& state, double (*kernel)(std::span<const float>)) {
  const auto values = Draw("laplace", state.range(0));
  Compare(
      state, std::ssize(values), "share_of_read", Nothing,
      [&] { benchmark::DoNotOptimize(kernel(values)); }, [&] { Read(values); });
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
  Compare(
      state, n, "share_of_read", Nothing,
      [&] {
        const RandomStream stream({.step = ++step});
        benchmark::DoNotOptimize(cpu::RandomSubset(stream, n, k).data());
      },
      [&] { Read(values); });
}

// Eight workers, one after the other as the yardstick.
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
      state, n, "times_in_turn", [&] { std::ranges::fill(sum, 0.0f); },
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

void TopKFeedbackAndTorch(benchmark::State& state) {
  const int64_t n = state.range(0), k = Kept(n, state.range(1));
  Feedback data("laplace", n);
  std::vector<float> magnitudes = data.gradient;
  for (float& x : magnitudes) x = std::abs(x);
  cpu::TopKSelector selector;
  const cpu::TopKSegment all = {0, n, k};
  Compare(
      state, n, "times_torch_topk", [&] { data.Restore(); },
      [&] {
        selector.Compensate(data.gradient, data.residual, {&all, 1});
      },
      [&] { bench::TorchTopK(magnitudes, k); });
}

void RandomSubsetAndTorch(benchmark::State& state) {
  const int64_t n = state.range(0), k = Kept(n, state.range(1));
  uint64_t step = 0;
  Compare(
      state, n, "times_torch_mask", Nothing,
      [&] {
        const RandomStream stream({.step = ++step});
        benchmark::DoNotOptimize(cpu::RandomSubset(stream, n, k).data());
      },
      [&] { bench::TorchRandomMask(n, k); });
}

#endif

#define LEGACY_TURNS UseManualTime()->Iterations(kTurns)->Unit(benchmark::kMillisecond)
#define LEGACY_SIZES Arg(1 << 20)->Arg(1 << 24)->LEGACY_TURNS
#define LEGACY_SPARSE ArgsProduct({{1 << 20, 1 << 24}, {1, 10, 100}})->LEGACY_TURNS
BENCHMARK_CAPTURE(TopKFeedback, laplace, "laplace", cpu::ActiveSimd())->LEGACY_SPARSE;
BENCHMARK_CAPTURE(TopKFeedback, student_t, "student-t", cpu::ActiveSimd())->LEGACY_SPARSE;
BENCHMARK_CAPTURE(TopKFeedback, zeros, "zeros", cpu::ActiveSimd())->LEGACY_SPARSE;
BENCHMARK_CAPTURE(TopKFeedback, constant, "constant", cpu::ActiveSimd())->LEGACY_SPARSE;
BENCHMARK_CAPTURE(TopKFeedback, hint, "laplace", cpu::ActiveSimd(), Hint::kLastThreshold)
    ->LEGACY_SPARSE;
BENCHMARK_CAPTURE(TopKFeedback, plain, "laplace", cpu::Simd::kPlain)
    ->Args({1 << 24, 10})
    ->LEGACY_TURNS;
BENCHMARK(TopK)->LEGACY_SPARSE;
BENCHMARK(TopKResNet50)->Arg(1)->Arg(10)->Arg(100)->LEGACY_TURNS;
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
#ifdef LEGACY_BENCH_TORCH
BENCHMARK(TopKFeedbackAndTorch)->LEGACY_SPARSE->Iterations(kTurnsOfSlowPeers);
BENCHMARK(RandomSubsetAndTorch)->LEGACY_SPARSE->Iterations(kTurnsOfSlowPeers);
#endif
#undef LEGACY_SPARSE
#undef LEGACY_SIZES
#undef LEGACY_TURNS

}  // namespace
}  // namespace legacy
