// What policies cost on one core: the knapsack alone, at the size of a ResNet-50, and everything
// that a policy does in a step of a ResNet-20 (65 units, 270 thousand elements), averaged over an
// epoch, local gradients and error tables included.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "compress/exchange.h"
#include "compress/policies/knapsack.h"
#include "compress/policy.h"
#include "compress/random.h"

namespace legacy {
namespace {

void BM_Knapsack(benchmark::State& state) {
  const auto units = static_cast<size_t>(state.range(0));
  const auto options = static_cast<size_t>(state.range(1));
  OptionTable errors(units, options);
  OptionTable bytes(units, options);
  RandomStream stream({.seed = 1});
  for (size_t unit = 0; unit < units; ++unit) {
    double error = 1 + stream.Uniform();
    double size = 100 + stream.Below(1000);
    for (size_t option = 0; option < options; ++option) {
      errors.At(unit, option) = error;
      bytes.At(unit, option) = std::floor(size);
      error *= 0.9;
      size *= 1.4;
    }
  }
  const Choices uniform(units, static_cast<uint8_t>(options / 2));
  for (auto _ : state) {
    benchmark::DoNotOptimize(CheapestWithinError(errors, bytes, uniform, 1, state.range(2)));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1) * state.range(2));
}
BENCHMARK(BM_Knapsack)->Args({161, 13, 10000})->Args({62, 7, 10000})->Unit(benchmark::kMillisecond);

// Tensors of a ResNet-20 for 32 x 32 images (He et al. 2016) with batch norm.
std::vector<Unit> ResNet20() {
  std::vector<int64_t> sizes = {432, 16, 16};
  int64_t in = 16;
  for (const int64_t out : {16, 32, 64}) {
    for (int block = 0; block < 3; ++block) {
      sizes.insert(sizes.end(), {9 * in * out, out, out, 9 * out * out, out, out});
      in = out;
    }
  }
  sizes.insert(sizes.end(), {640, 10});
  std::vector<Unit> units;
  int64_t offset = 0;
  for (const int64_t numel : sizes) {
    const auto id = static_cast<uint32_t>(units.size());
    units.push_back({id, std::to_string(id), {numel}, offset, numel});
    offset += numel;
  }
  return units;
}

// All calls of one step, without exchanges.
void Step(Policy& policy, const PolicyContext& context, const StepInfo& step,
          std::span<const float> gradient, std::vector<double>& parameters) {
  const std::vector<Unit>& units = context.units;
  policy.Decide(step, units, parameters);
  if (policy.ReadsLocalGradient()) {
    for (size_t u = 0; u < units.size(); ++u) {
      const auto part = gradient.subspan(units[u].offset, units[u].numel);
      policy.ObserveLocal(u, part, part);
    }
  }
  const std::vector<double> candidates = policy.Candidates();
  std::vector<Probe> probes;
  if (!candidates.empty()) {
    probes.assign(units.size(), {.squared = 2, .kept = std::vector(candidates.size(), 1.0)});
  }
  for (const PolicyMoment moment : {PolicyMoment::kAgreement, PolicyMoment::kAnnouncement}) {
    if (moment == PolicyMoment::kAgreement && candidates.empty()) continue;
    if (!policy.OpenRound(moment)) continue;
    for (int w = 0; w < context.workers; ++w) {
      policy.Accumulate(w, policy.Encode(w, probes).bytes);
    }
    policy.FinishRound();
  }
  policy.Observe({.step = step.step,
                  .loss = 1,
                  .mean_gradient = gradient,
                  .simulated_seconds = 0.1,
                  .communication_seconds = 0.01,
                  .message_bytes = 1e4});
}

void BM_PolicyStep(benchmark::State& state, const std::string& text) {
  const auto scheme = MakeScheme("topk");
  const PolicyContext context = {.scheme = scheme.get(),
                                 .units = ResNet20(),
                                 .workers = 8,
                                 .total_steps = 10000,
                                 .steps_per_epoch = 100,
                                 .parameter = 0.01,
                                 .seed = 1};
  const auto policy = MakePolicy(text, context);
  const Unit& last = context.units.back();
  std::vector<float> gradient(last.offset + last.numel);
  RandomStream stream({.seed = 2});
  for (float& x : gradient) x = static_cast<float>(stream.Normal());
  std::vector<double> parameters(context.units.size());
  int64_t step = 0;
  for (auto _ : state) {
    for (int i = 0; i < 100; ++i, ++step) {
      Step(*policy, context,
           {.step = step, .total_steps = 10000, .learning_rate = 1, .steps_per_epoch = 100},
           gradient, parameters);
    }
  }
  state.counters["seconds_per_step"] =
      benchmark::Counter(100.0 * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

#define BENCHMARK_POLICY(name, text) \
  BENCHMARK_CAPTURE(BM_PolicyStep, name, text)->Unit(benchmark::kMillisecond)
BENCHMARK_POLICY(uniform, "uniform");
BENCHMARK_POLICY(legacy_auto, "legacy-auto");
BENCHMARK_POLICY(warmup, "warmup");
BENCHMARK_POLICY(lgreco, "lgreco");
BENCHMARK_POLICY(lgreco_of_the_mean, "lgreco:source=mean");
BENCHMARK_POLICY(lgreco_accordion, "lgreco-accordion");
BENCHMARK_POLICY(accordion, "accordion:interval_steps=100");
BENCHMARK_POLICY(gravac, "gravac");
BENCHMARK_POLICY(kimad, "kimad");
BENCHMARK_POLICY(kimad_knapsack, "kimad:split=knapsack");
BENCHMARK_POLICY(kimad_knapsack_of_ten_steps, "kimad:split=knapsack,period=10");

}  // namespace
}  // namespace legacy
