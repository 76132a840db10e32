// The cost of policies on one core: the knapsack alone, at the size of a ResNet-50, and all work of
// a policy in a step of a ResNet-20 (65 units, 270 thousand elements) with 8 workers, averaged over
// an epoch of 100 steps, local gradients and error tables included.
//
// A step's decision may take 1 % of the time that one worker computes in that step, which is a
// forward and backward pass of 32 images: real workers compute side by side, and each of them
// decides. Without LibTorch that time is not known, and decisions have no aim.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "compress/bench/turns.h"
#include "compress/exchange.h"
#include "compress/policies/knapsack.h"
#include "compress/policy.h"
#ifdef LEGACY_BENCH_TORCH
#include "compress/bench/peers.h"
#endif

namespace legacy::bench {
namespace {

constexpr int kStepsPerEpoch = 100;

// Arguments: units, options, steps of the error.
void Knapsack(benchmark::State& state, std::optional<Aim> aim) {
  const auto units = static_cast<size_t>(state.range(0));
  const auto options = static_cast<size_t>(state.range(1));
  ChoiceTable errors(units, options);
  ChoiceTable bytes(units, options);
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
  const auto decide = [&] {
    benchmark::DoNotOptimize(CheapestWithinError(errors, bytes, uniform, 1, state.range(2)));
  };
  Report(state, "median_ms", 1e3 * TimeAlone(state, decide), aim);
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1) * state.range(2));
}

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

// Makes all calls of one step, without exchanges.
void Step(Policy& policy, const PolicyContext& context, const StepInfo& step,
          std::span<const float> gradient, std::vector<double>& parameters) {
  const std::vector<Unit>& units = context.units;
  policy.Decide(step, units, parameters);
  if (policy.ReadsLocalGradient()) {
    for (size_t u = 0; u < units.size(); ++u) {
      const auto part = gradient.subspan(units[u].offset, units[u].numel);
      policy.OnLocalGradient(u, part, part);
    }
  }
  const std::vector<double> candidates = policy.Candidates();
  std::vector<Probe> probes;
  if (!candidates.empty()) {
    probes.assign(units.size(), {.squared = 2, .kept = std::vector(candidates.size(), 1.0)});
  }
  for (const PolicyMoment moment : {PolicyMoment::kAgreement, PolicyMoment::kAnnouncement}) {
    if (moment == PolicyMoment::kAgreement && candidates.empty()) continue;
    if (!policy.OpenCall(moment)) continue;
    for (int w = 0; w < context.workers; ++w) {
      policy.Accumulate(w, policy.Encode(w, probes).bytes);
    }
    policy.FinishCall();
  }
  policy.OnFeedback({.step = step.step,
                     .loss = 1,
                     .mean_gradient = gradient,
                     .simulated_seconds = 0.1,
                     .communication_seconds = 0.01,
                     .message_bytes = 1e4});
}

// Runs the steps of an epoch at each call.
class Epoch {
 public:
  explicit Epoch(const std::string& policy)
      : scheme_(MakeScheme("topk")),
        context_{.scheme = scheme_.get(),
                 .units = ResNet20(),
                 .workers = 8,
                 .total_steps = 10000,
                 .steps_per_epoch = kStepsPerEpoch,
                 .parameter = 0.01,
                 .seed = 1},
        policy_(MakePolicy(policy, context_)),
        gradient_(Draw("gaussian", context_.units.back().offset + context_.units.back().numel)),
        parameters_(context_.units.size()) {}

  void operator()() {
    for (int i = 0; i < kStepsPerEpoch; ++i, ++step_) {
      Step(*policy_, context_,
           {.step = step_,
            .total_steps = context_.total_steps,
            .learning_rate = 1,
            .steps_per_epoch = kStepsPerEpoch},
           gradient_, parameters_);
    }
  }

 private:
  std::unique_ptr<Scheme> scheme_;
  PolicyContext context_;
  std::unique_ptr<Policy> policy_;
  std::vector<float> gradient_;
  std::vector<double> parameters_;
  int64_t step_ = 0;
};

void ReportStep(benchmark::State& state, double epoch_seconds, std::optional<Aim> aim) {
  Report(state, "us_per_step", 1e6 * epoch_seconds / kStepsPerEpoch, aim);
}

void PolicyStep(benchmark::State& state, const char* policy) {
  Epoch epoch(policy);
  ReportStep(state, TimeAlone(state, [&] { epoch(); }), {});
}

#ifdef LEGACY_BENCH_TORCH

void PolicyStepAndTorch(benchmark::State& state, const char* policy) {
  Epoch epoch(policy);
  const Medians medians = TakeTurns(
      state, Nothing, [&] { epoch(); }, TorchResNet20Step(32));
  ReportStep(state, medians.kernel, AtMost(0.01 * 1e6 * medians.yardstick));
}

#endif

// Compresses one gradient 10x and 1,000x. GraVAC's probes, which take the second selection from the
// first, are compared with two compressions of the gradient itself (Tyagi and Swany, IEEE CLOUD
// 2023, table 3). Argument: elements.
void TwoLevels(benchmark::State& state, const char* scheme_text) {
  constexpr double kLoose = 0.1, kTight = 0.001;
  const auto scheme = MakeScheme(scheme_text, {.error_feedback = false});
  const int64_t n = state.range(0);
  const auto exchange = scheme->Open(Unit{0, "all", {n}, 0, n}, 1);
  const auto gradient = Draw("laplace", n);
  const auto measure = [&](const std::vector<double>& candidates) {
    UnitStep step;
    step.info.seed = 1;
    step.parameter = candidates.front();
    step.candidates = candidates;
    exchange->Begin(step);
    benchmark::DoNotOptimize(exchange->Measure(0, gradient));
  };
  const Medians medians = TakeTurns(
      state, Nothing,
      [&] {
        measure({kLoose, kTight});
      },
      [&] {
        measure({kLoose});
        measure({kTight});
      });
  Report(state, "times_two_compressions", medians.yardstick / medians.kernel, {});
  Report(state, "median_ms", 1e3 * medians.kernel, {});
}

BENCHMARK_CAPTURE(Knapsack, small, {})->Args({62, 7, 10000})->LEGACY_TURNS;
LEGACY_AIM("Knapsack", Knapsack, AtMost(20))->Args({161, 13, 10000});

BENCHMARK_CAPTURE(PolicyStep, uniform, "uniform")->LEGACY_TURNS;
BENCHMARK_CAPTURE(PolicyStep, warmup, "warmup")->LEGACY_TURNS;
#ifdef LEGACY_BENCH_TORCH
#define LEGACY_POLICY(name, text) LEGACY_AIM("PolicyStep/" #name, PolicyStepAndTorch, text)
#else
#define LEGACY_POLICY(name, text) BENCHMARK_CAPTURE(PolicyStep, name, text)->LEGACY_TURNS
#endif
LEGACY_POLICY(legacy_auto, "legacy-auto");
LEGACY_POLICY(lgreco, "lgreco");
LEGACY_POLICY(lgreco_of_the_mean, "lgreco:source=mean");
LEGACY_POLICY(lgreco_accordion, "lgreco-accordion");
LEGACY_POLICY(accordion, "accordion:interval_steps=100");
LEGACY_POLICY(gravac, "gravac");
LEGACY_POLICY(kimad, "kimad");
LEGACY_POLICY(kimad_knapsack, "kimad:split=knapsack");
LEGACY_POLICY(kimad_knapsack_of_ten_steps, "kimad:split=knapsack,period=10");
#undef LEGACY_POLICY

#define LEGACY_LEVELS(name)                 \
  BENCHMARK_CAPTURE(TwoLevels, name, #name) \
      ->Arg(100'000)                        \
      ->Arg(1'000'000)                      \
      ->Arg(16'000'000)                     \
      ->LEGACY_TURNS
LEGACY_LEVELS(topk);
LEGACY_LEVELS(sampled);
LEGACY_LEVELS(redsync);
LEGACY_LEVELS(randomk);
#undef LEGACY_LEVELS

}  // namespace
}  // namespace legacy::bench
