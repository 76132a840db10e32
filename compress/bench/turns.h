// The program measures by turns: a kernel and what it is compared with, its yardstick, run in
// turns, so that what else the machine does falls on both. Each turn is timed by this thread's
// processor time, and medians are compared. A benchmark has these counters:
//
//   median_ms      the kernel's
//   yardstick_ms   the yardstick's
//   share_of_X     median time of the loop X, which only moves memory, / the kernel's
//   times_X        median time of X, another way to the same result, / the kernel's
//   time_of_X      the kernel's median time / that of X
//   aim, reached   what the benchmark's figure shall be, in its unit, and whether (1 or 0) it is
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

namespace legacy::bench {

inline constexpr int kTurns = 21;
inline constexpr int kTurnsOfSlowPeers = 7;

struct Aim {
  double value;
  bool at_most;
};
constexpr Aim AtLeast(double value) { return {value, false}; }
constexpr Aim AtMost(double value) { return {value, true}; }

// Sets the counter of that name and, where there is an aim, `aim` and `reached`.
void Report(benchmark::State& state, const char* counter, double value, std::optional<Aim> aim);

// Seconds that this thread had a core: what else the machine runs does not count.
double Now();
double Median(std::vector<double> values);

// "laplace", "zeros", ...: n values of DrawGradient().
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

// Runs both in each of the state's iterations; before each, `prepare`, untimed.
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

// `counter` is how often the kernel's time goes into the yardstick's. n elements a turn.
template <typename Prepare, typename Kernel, typename Yardstick>
void Compare(benchmark::State& state, int64_t n, const char* counter, std::optional<Aim> aim,
             Prepare prepare, Kernel kernel, Yardstick yardstick) {
  const Medians medians = TakeTurns(state, prepare, kernel, yardstick);
  Report(state, counter, medians.yardstick / medians.kernel, aim);
  state.SetItemsProcessed(state.iterations() * n);
}

// Beside the loop that only reads `values`.
template <typename Kernel>
void CompareWithRead(benchmark::State& state, std::span<const float> values, std::optional<Aim> aim,
                     Kernel kernel) {
  Compare(state, std::ssize(values), "share_of_read", aim, Nothing, kernel, [&] { Read(values); });
}

// Behind BENCHMARK(...)->: turns are counted, whatever --benchmark_min_time says.
#define LEGACY_TURNS \
  UseManualTime()->Iterations(legacy::bench::kTurns)->Unit(benchmark::kMillisecond)
// function(state, ...) as Aim/NAME.
#define LEGACY_AIM(name, function, ...) \
  BENCHMARK_CAPTURE(function, aim, __VA_ARGS__)->Name("Aim/" name)->LEGACY_TURNS

}  // namespace legacy::bench
