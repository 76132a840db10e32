// Benchmarks run a kernel and the code that it is compared with, its yardstick, in turns, so that
// other load of the machine affects both. Each turn is timed by this thread's processor time, and
// medians are compared. A benchmark has these counters:
//
//   median_ms      median time of the kernel
//   yardstick_ms   median time of the yardstick
//   share_of_X     median time of the loop X, which only moves memory, / that of the kernel
//   times_X        median time of X, another way to the same result, / that of the kernel
//   time_of_X      median time of the kernel / that of X
//   aim, reached   target of the benchmark's figure, in its unit; 1 if it is reached, else 0
//
// A benchmark whose figure has an aim is named Aim/...: --benchmark_filter=^Aim runs these alone.
// items_per_second counts elements.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/median.h"

namespace legacy::bench {

inline constexpr int kTurns = 21;
inline constexpr int kTurnsOfSlowPeers = 7;

struct Aim {
  double value;
  bool at_most;
};
constexpr Aim AtLeast(double value) { return {value, false}; }
constexpr Aim AtMost(double value) { return {value, true}; }

// Sets the counter of that name and, if there is an aim, `aim` and `reached`.
void Report(benchmark::State& state, const char* counter, double value, std::optional<Aim> aim);

// Returns the seconds for which this thread had a core; other load does not count.
double Now();

// Returns n values of DrawGradient() of that kind: "laplace", "zeros" and so on.
std::vector<float> Draw(const std::string& kind, int64_t n);

// Yardsticks: loops that move memory and do nothing else.
void Read(std::span<const float> values);
void ReadTwoWriteOne(std::span<const float> values, std::span<float> sum);

inline void Nothing() {}

template <typename Work>
double Seconds(Work& work) {
  const double begin = Now();
  work();
  return Now() - begin;
}

// Median seconds of `work`, which runs in each of the state's iterations.
template <typename Work>
double TimeAlone(benchmark::State& state, Work work) {
  std::vector<double> seconds;
  for (auto _ : state) {
    seconds.push_back(Seconds(work));
    state.SetIterationTime(seconds.back());
  }
  return Median(seconds);
}

struct Medians {
  double kernel, yardstick;  // seconds
};

// Runs both in each of the state's iterations, and `prepare`, untimed, before each.
template <typename Prepare, typename Kernel, typename Yardstick>
Medians TakeTurns(benchmark::State& state, Prepare prepare, Kernel kernel, Yardstick yardstick) {
  std::vector<double> ours, theirs;
  for (auto _ : state) {
    prepare();
    theirs.push_back(Seconds(yardstick));
    prepare();
    ours.push_back(Seconds(kernel));
    state.SetIterationTime(ours.back());
  }
  const Medians medians = {Median(ours), Median(theirs)};
  state.counters["median_ms"] = 1e3 * medians.kernel;
  state.counters["yardstick_ms"] = 1e3 * medians.yardstick;
  return medians;
}

// Reports as `counter` the yardstick's time divided by the kernel's. A turn handles n elements.
template <typename Prepare, typename Kernel, typename Yardstick>
void Compare(benchmark::State& state, int64_t n, const char* counter, std::optional<Aim> aim,
             Prepare prepare, Kernel kernel, Yardstick yardstick) {
  const Medians medians = TakeTurns(state, prepare, kernel, yardstick);
  Report(state, counter, medians.yardstick / medians.kernel, aim);
  state.SetItemsProcessed(state.iterations() * n);
}

// Compares the kernel with a loop that only reads `values`.
template <typename Kernel>
void CompareWithRead(benchmark::State& state, std::span<const float> values, std::optional<Aim> aim,
                     Kernel kernel) {
  Compare(state, std::ssize(values), "share_of_read", aim, Nothing, kernel, [&] { Read(values); });
}

// Follows BENCHMARK(...)->; counts turns, whatever --benchmark_min_time says.
#define LEGACY_TURNS \
  UseManualTime()->Iterations(legacy::bench::kTurns)->Unit(benchmark::kMillisecond)
// Registers function(state, ...) as Aim/NAME.
#define LEGACY_AIM(name, function, ...) \
  BENCHMARK_CAPTURE(function, aim, __VA_ARGS__)->Name("Aim/" name)->LEGACY_TURNS

}  // namespace legacy::bench
