// SIDCo estimates the threshold from a distribution that is fitted to the magnitudes. With one
// stage it is the quantile of the fit to all magnitudes. With several stages, the first selects a
// quarter, and each later one fits the magnitudes above the last threshold again, each with the
// same factor: delta_j = (delta / 0.25)^(1 / (stages - 1)). With mean m and variance v of the
// excess over the last threshold t:
//
//   exponential           t - m ln delta
//   Pareto (generalised)  t + a (1 - delta^b) / b,  a = m (m^2 / v + 1) / 2,
//                         b = (m^2 / v - 1) / 2
//
// The number of values sent depends on the data. With stages=auto, the number of stages (1 to 4) is
// the one whose count is nearest to the requested one, in ratio. It is chosen at the first step and
// again after each 5 steps whose mean ratio was off by more than 20 %. (The paper moves by one
// stage; the right direction depends on the tail.) Without a state every call chooses.
//
// If the fit selects nothing (a constant vector), or all magnitudes are zero, the exact Top-K is
// sent. All stages are fitted, and their number chosen, from one magnitude histogram
// (cpu/histogram.h): the mean of the first stage is exact, and the tail above a threshold is known
// within a bin's width. The method makes two passes of 4 bytes per element, whatever the number of
// stages. Sums of integers do not depend on their order, so thresholds are the same on every
// machine.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/histogram.h"
#include "compress/density.h"
#include "compress/sparsifier.h"
#include "compress/sparsifiers/cut.h"

namespace legacy {
namespace {

constexpr double kFirstStage = 0.25;
constexpr int kMostStages = 4;
constexpr double kFitWindow = 5;  // number of steps
constexpr double kTolerance = 0.2;

enum class Fit { kExponential, kPareto };

// Returns how far above `start` the threshold lies that, according to the fit, leaves a share
// `delta` of `tail`, whose magnitudes are all at least `start`.
double Reach(Fit fit, const cpu::MagnitudeCurve::Tail& tail, double start, double delta) {
  if (tail.count == 0) return 0;
  const double average = tail.sum / tail.count;
  const double mean = std::max(0.0, average - start);
  const double variance = tail.squares / tail.count - average * average;
  if (fit == Fit::kPareto && variance > 0) {
    const double ratio = mean * mean / variance;
    const double a = 0.5 * mean * (ratio + 1);
    const double b = 0.5 * (ratio - 1);
    constexpr double kAlmostExponential = 1e-6;
    if (std::abs(b) > kAlmostExponential) return a * (1 - std::exp(b * std::log(delta))) / b;
  }
  return -mean * std::log(delta);
}

// Returns the threshold that selects the share `delta`, or 0 if the fit gives none.
double FittedThreshold(Fit fit, const cpu::MagnitudeCurve& curve, double delta, int stages) {
  double threshold = Reach(fit, curve.Above(0), 0, stages == 1 ? delta : kFirstStage);
  const double share = std::pow(delta / kFirstStage, 1.0 / std::max(1, stages - 1));
  for (int stage = 2; stage <= stages; ++stage) {
    threshold += Reach(fit, curve.Above(threshold), threshold, share);
  }
  return threshold;
}

// Returns the number of stages whose count is nearest to the requested one, in ratio; the smaller
// one if two are equal.
int BestStages(Fit fit, const cpu::MagnitudeCurve& curve, double delta) {
  int best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (int stages = 1; stages <= kMostStages; ++stages) {
    const double selected = curve.Above(FittedThreshold(fit, curve, delta, stages)).count;
    const double off = std::abs(std::log(selected / (delta * curve.Above(0).count)));
    if (!(off < least)) continue;
    least = off;
    best = stages;
  }
  return best;
}

class Sidco : public Sparsifier {
 public:
  // `stages` = 0 chooses the best number.
  Sidco(Fit fit, int stages) : fit_(fit), stages_(stages) {}
  std::string_view Name() const override { return "sidco"; }
  CodecId Id() const override { return CodecId::kSidco; }
  const ParameterSpec& Parameter() const override { return DensityParameter(); }
  SparsifierTraits Traits() const override { return {.fixed_count = false}; }
  Selection Select(std::span<const float> values, int64_t count,
                   const CodecContext& context) const override;

 private:
  Fit fit_;
  int stages_;
};

// Updates CodecState::numbers: stages in use (0: choose again), steps of the window so far, the sum
// of their ratios, density.
void Remember(double ratio, CodecState& state) {
  auto& numbers = state.numbers;
  numbers[1] += 1;
  numbers[2] += ratio;
  if (numbers[1] < kFitWindow) return;
  if (std::abs(numbers[2] / kFitWindow - 1) > kTolerance) numbers[0] = 0;
  numbers[1] = numbers[2] = 0;
}

Selection Sidco::Select(std::span<const float> values, int64_t count,
                        const CodecContext& context) const {
  const auto numel = static_cast<int64_t>(values.size());
  if (count >= numel) return SelectAtLeast(values, 0, context.unit);
  const auto curve = cpu::MagnitudeCurve::Of(values);
  if (curve.NonFinite() > 0) CheckFinite(values, context.unit);
  CodecState* state = stages_ == 0 ? context.state : nullptr;
  if (state && state->numbers[3] != context.parameter) {
    *state = {.numbers = {0, 0, 0, context.parameter}};
  }
  int stages =
      state ? static_cast<int>(std::clamp<double>(state->numbers[0], 0, kMostStages)) : stages_;
  const double delta = static_cast<double>(count) / static_cast<double>(numel);
  if (delta >= kFirstStage) stages = 1;  // no earlier stage is needed
  if (stages == 0) stages = BestStages(fit_, curve, delta);
  const auto threshold = static_cast<float>(FittedThreshold(fit_, curve, delta, stages));
  Selection selection;
  if (threshold > 0) selection = SelectAtLeast(values, threshold, context.unit);
  if (state) {
    state->numbers[0] = stages;
    const auto selected = static_cast<double>(selection.positions.size());
    Remember(selected / static_cast<double>(count), *state);
  }
  return selection.positions.empty() ? SelectLargest(values, count, context.unit) : selection;
}

}  // namespace

SparsifierRow SidcoRow() {
  return {
      {.name = "sidco",
       .help =
           "sends the magnitudes above a threshold that is estimated from a fitted distribution",
       .paper = "M. Abdelmoniem et al., An Efficient Statistical-based Gradient Compression "
                "Technique for Distributed Training Systems, MLSys 2021",
       .options = {{"fit", "exponential", "exponential, pareto",
                    "distribution that is fitted to the magnitudes"},
                   {"stages", "auto", "auto, 1, 2, 3, 4",
                    "number of successive fits; auto: the number whose count of elements is "
                    "nearest to the density"}}},
      [](const OptionReader& options) -> std::unique_ptr<Sparsifier> {
        constexpr std::string_view kFits[] = {"exponential", "pareto"};
        constexpr std::string_view kStages[] = {"auto", "1", "2", "3", "4"};
        return std::make_unique<Sidco>(
            options.Choice("fit", kFits) == 0 ? Fit::kExponential : Fit::kPareto,
            static_cast<int>(options.Choice("stages", kStages)));
      }};
}

}  // namespace legacy
