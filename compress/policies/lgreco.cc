// L-GreCo (Markov, Alimohammadi, Frantar, Alistarh, "L-GreCo: Layerwise-Adaptive Gradient
// Compression For Efficient Data-parallel Deep Learning", MLSys 2024): at intervals worker 0
// measures the error of every parameter for each unit, and chooses the parameters that send the
// least with no more error than the uniform one, which is a knapsack problem (knapsack.h). One byte
// per unit is broadcast (announced_policy.h).
//
// It measures worker 0's error-fed gradients of the last steps before a decision (as the authors'
// code does), or the mean gradient, which all workers have. It takes the mean of these gradients
// instead of their sum: the constant factor changes no choice, and keeps values in the range of one
// gradient.
//
// cost=time replaces bytes by exposed seconds, plus the seconds of the work that grows with the
// rank (exposed_cost.h).
//
// If the scheme begins with a dense start, the first decision comes one period after it.
//
// In lgreco-accordion, the allowed error is not that of the uniform parameter but that of
// Accordion's choice (gradient_watch.h) between twice and half of what the uniform parameter sends,
// tested on the same accumulated gradients at each decision. A drop of the learning rate makes the
// next decision critical.
#include <algorithm>
#include <cmath>

#include "compress/cpu/vector.h"
#include "compress/policies/announced_policy.h"
#include "compress/policies/exposed_cost.h"
#include "compress/policies/gradient_watch.h"
#include "compress/policies/policy_options.h"

namespace legacy {
namespace {

enum class ErrorMetric : uint8_t { kNorm, kSquared, kRelative };
constexpr std::string_view kMetrics[] = {"l2", "l2_sq", "rel_l2"};
constexpr std::string_view kSources[] = {"local", "mean"};
constexpr std::string_view kCostTexts[] = {"bytes", "time"};
// Accordion's pair, as factors of what the uniform parameter sends.
constexpr double kLowCompression = 2;
constexpr double kHighCompression = 0.5;
// Rounding up wastes at most a step per unit, which is at most 2 % of the error.
constexpr int64_t kStepsPerUnit = 50;

struct LgrecoOptions {
  int64_t period = 1;  // number of steps between decisions
  int64_t start = 1;
  int64_t accumulate = 10;
  double alpha = 1;
  ErrorMetric metric = ErrorMetric::kNorm;
  int64_t steps = 10000;  // number of steps of the error axis
  bool mean_source = false;
  bool time_cost = false;
  std::optional<double> accordion_eta;
};

class Lgreco : public AnnouncedPolicy {
 public:
  Lgreco(std::string_view name, const PolicyContext& context, ParameterGrid grid, Choices start,
         const LgrecoOptions& options)
      : AnnouncedPolicy(context, std::move(grid), std::move(start)),
        name_(name),
        options_(options),
        anchor_(this->grid().Nearest(1)),
        gradients_(context.units),
        work_(this->grid().Work()),
        exposed_(context.units.size()),
        regimes_(context.units.size(), options.accordion_eta.value_or(0)) {}
  std::string_view Name() const override { return name_; }
  bool ReadsLocalGradient() const override { return !options_.mean_source && Accumulates(); }
  void OnLocalGradient(size_t unit, std::span<const float>,
                       std::span<const float> error_fed) override;
  void OnFeedback(const StepFeedback& feedback) override;
  // The mean gradient of a step is known after the step's announcement, so it counts for the next
  // decision.
  bool ReadsMeanGradient() const override {
    return options_.mean_source && StepsToDecision() > 0 &&
           StepsToDecision() <= options_.accumulate;
  }
  PolicyTraits Traits() const override {
    return {.reads_clock = options_.time_cost,
            .needs_training = options_.mean_source ? "the mean gradient" : ""};
  }
  std::optional<DecisionForecast> DecisionsIn(int64_t total_steps) const override {
    return DecisionForecast{EndsOfPeriods(total_steps, options_.start, options_.period),
                            "period=10%"};
  }

 protected:
  void OnStep() override;
  bool IsDue() const override { return StepsToDecision() == 0; }
  Choices Choose() override;
  DecisionGrounds GroundsOf(size_t unit) const override { return grounds_.at(unit); }
  WorkList ChoosingWork() const override;
  void SaveOwn(StateWriter& out) const override {
    SaveParts(out, rate_, regimes_, exposed_, gradients_);
  }
  void LoadOwn(StateReader& in) override { LoadParts(in, rate_, regimes_, exposed_, gradients_); }

 private:
  int64_t StepsToDecision() const;
  bool Accumulates() const { return StepsToDecision() < options_.accumulate; }
  ChoiceTable Errors(std::span<const float> gradient) const;
  Choices Reference(std::span<const float> gradient);
  void Explain(const ChoiceTable& errors, const ChoiceTable& costs, const Choices& reference,
               const Choices& chosen);

  std::string name_;
  LgrecoOptions options_;
  Choices anchor_;
  GradientSum gradients_;
  ChoiceTable work_;  // work of the grid's options
  Choices used_;      // choices in this step
  ExposedCost exposed_;
  CriticalRegimes regimes_;
  RateDrop rate_;
  std::vector<DecisionGrounds> grounds_;  // reasons of the last decision, by unit
};

// Returns the number of steps from this one up to the one at whose end the next decision is made.
// The first decision comes after `start` steps.
int64_t Lgreco::StepsToDecision() const {
  const int64_t first = options_.start - 1;
  const int64_t step = this->step().step;
  if (step <= first) return first - step;
  return (options_.period - (step - first) % options_.period) % options_.period;
}

void Lgreco::OnStep() {
  if (rate_.Sees(step().learning_rate)) regimes_.Forget();
  used_ = choices();
}

void Lgreco::OnLocalGradient(size_t unit, std::span<const float>,
                             std::span<const float> error_fed) {
  gradients_.Add(context().units[unit], error_fed);
  if (unit + 1 == context().units.size()) gradients_.CountStep();
}

void Lgreco::OnFeedback(const StepFeedback& feedback) {
  exposed_.Add(feedback.unit_bytes, feedback.unit_exposed_seconds);
  if (step().step >= context().scheme->Traits().dense_steps) {
    exposed_.AddWork(SumOf(work_, used_), feedback.codec_seconds);
  }
  if (!ReadsMeanGradient() || feedback.mean_gradient.empty()) return;
  gradients_.AddFlat(feedback.mean_gradient);
  gradients_.CountStep();
}

ChoiceTable Lgreco::Errors(std::span<const float> gradient) const {
  ChoiceTable errors = SquaredErrors(gradient);
  if (options_.metric == ErrorMetric::kSquared) return errors;
  for (size_t unit = 0; unit < errors.units; ++unit) {
    double norm = 1;
    if (options_.metric == ErrorMetric::kRelative) {
      const Unit& shape = context().units[unit];
      norm = std::sqrt(cpu::SquaredNorm(gradient.subspan(shape.offset, shape.numel)));
    }
    for (size_t option = 0; option < errors.options; ++option) {
      double& error = errors.At(unit, option);
      error = norm > 0 ? std::sqrt(error) / norm : 0;
    }
  }
  return errors;
}

// Returns the choice whose error must not be exceeded.
Choices Lgreco::Reference(std::span<const float> gradient) {
  if (!options_.accordion_eta) return anchor_;
  std::vector<double> norms;
  for (const Unit& unit : context().units) {
    norms.push_back(std::sqrt(cpu::SquaredNorm(gradient.subspan(unit.offset, unit.numel))));
  }
  const auto critical = regimes_.Test(norms);
  const Choices low = grid().Nearest(kLowCompression);
  Choices reference = grid().Nearest(kHighCompression);
  for (size_t i = 0; i < reference.size(); ++i) {
    if (critical[i]) reference[i] = low[i];
  }
  return reference;
}

Choices Lgreco::Choose() {
  const std::span<const float> gradient = gradients_.TakeMean();
  const Choices reference = Reference(gradient);
  ChoiceTable costs = grid().Bytes();
  if (options_.time_cost) exposed_.Price(work_, costs);
  const ChoiceTable errors = Errors(gradient);
  gradients_.Clear();
  exposed_.Clear();
  Choices chosen = CheapestWithinError(errors, costs, reference, options_.alpha, options_.steps);
  Explain(errors, costs, reference, chosen);
  return chosen;
}

void Lgreco::Explain(const ChoiceTable& errors, const ChoiceTable& costs, const Choices& reference,
                     const Choices& chosen) {
  grounds_.clear();
  const double budget = options_.alpha * SumOf(errors, reference);
  for (size_t unit = 0; unit < chosen.size(); ++unit) {
    const double cost = costs.At(unit, chosen[unit]);
    const double before = costs.At(unit, reference[unit]);
    DecisionGrounds grounds{.error = errors.At(unit, chosen[unit]), .budget = budget};
    if (before > 0) grounds.gain = 1 - cost / before;
    if (options_.time_cost) grounds.seconds = cost;
    grounds.reason = cost < before   ? "sends less than the reference"
                     : cost > before ? "sends more than the reference"
                                     : "sends as much as the reference";
    grounds_.push_back(std::move(grounds));
  }
}

WorkList Lgreco::ChoosingWork() const {
  const auto cells = static_cast<int64_t>(grid().Options() * grid().Units());
  WorkList work = Clearing();
  if (options_.mean_source) {
    Work sums = PassOver("accumulate");
    for (int64_t* const number : {&sums.elements, &sums.launches, &sums.sets})
      *number *= gradients_.steps();
    AddWork(sums, work);
  }
  if (gradients_.steps() > 1) AddWork(PassOver("copy"), work);  // computes their mean
  AddWork(grid().ErrorWork(), work);
  if (options_.metric == ErrorMetric::kRelative) AddWork(PassOver("norm"), work);
  if (options_.accordion_eta) AddWork(PassOver("norm"), work);
  AddWork(Work{"lgreco.solve", cells * options_.steps}, work);
  return work;
}

std::vector<OptionSpec> LgrecoOptionSpecs() {
  return {{"period", "0", "0 to 2^53, or a part of the run",
           "number of steps between decisions; 0: an epoch"},
          {"start", "0", "0 to 2^53, or a part of the run",
           "number of steps before the first decision; 0: one period after the dense start"},
          {"accumulate", "10", "1 to 2^53, or a part of the run",
           "number of last steps before a decision whose gradients are summed"},
          {"alpha", "1", "1e-6 to 1e6", "allowed error as a factor of the reference error"},
          {"metric", "l2", "l2, l2_sq, rel_l2", "error norm that is summed over units"},
          {"steps", "10000", "100 to 1000000",
           "resolution of the knapsack's error axis; at least 50 per unit"},
          {"gamma", "auto", "0.001 to 1",
           "least parameter to try, as a factor of the anchor; auto: 1/8; for ranks 1/2, in "
           "lgreco-accordion 1/4"},
          {"beta", "auto", "1 to 1000",
           "largest parameter to try, as a factor of the anchor; auto: 8; for ranks 2, in "
           "lgreco-accordion 4"},
          {"source", "local", "local, mean",
           "gradients to measure: worker 0's, or the mean of all workers"},
          {"cost", "bytes", "bytes, time", "cost to minimise: bytes sent, or exposed seconds"}};
}

GridRange ReadRange(const OptionReader& options, const Scheme& scheme, double rank_factor) {
  const double factor = scheme.Parameter().Kind() == ParameterKind::kRank ? rank_factor : 8;
  return {.low = NumberOrAuto(options, "gamma", 1 / factor, 0.001, 1),
          .high = NumberOrAuto(options, "beta", factor, 1, 1000)};
}

LgrecoOptions ReadOptions(const OptionReader& options, const PolicyContext& context) {
  const int64_t total = context.total_steps;
  LgrecoOptions read;
  read.period = options.Steps("period", 0, total);
  if (read.period == 0) read.period = context.steps_per_epoch;
  read.start = options.Steps("start", 0, total);
  if (read.start == 0) read.start = context.scheme->Traits().dense_steps + read.period;
  read.accumulate = std::min(options.Steps("accumulate", 1, total), read.period);
  read.alpha = options.Number("alpha", 1e-6, 1e6);
  read.metric = static_cast<ErrorMetric>(options.Choice("metric", kMetrics));
  read.steps = std::max(options.Integer("steps", 100, 1000000),
                        kStepsPerUnit * static_cast<int64_t>(context.units.size()));
  read.mean_source = options.Choice("source", kSources) == 1;
  read.time_cost = options.Choice("cost", kCostTexts) == 1;
  return read;
}

std::unique_ptr<Policy> MakeLgreco(const OptionReader& options, const PolicyContext& context) {
  ParameterGrid grid(*context.scheme, context.units, context.parameter,
                     ReadRange(options, *context.scheme, 2));
  Choices start = grid.Nearest(1);
  return std::make_unique<Lgreco>("lgreco", context, std::move(grid), std::move(start),
                                  ReadOptions(options, context));
}

std::unique_ptr<Policy> MakeLgrecoAccordion(const OptionReader& options,
                                            const PolicyContext& context) {
  ParameterGrid grid(*context.scheme, context.units, context.parameter,
                     ReadRange(options, *context.scheme, 4));
  Choices start = grid.Nearest(kLowCompression);
  LgrecoOptions read = ReadOptions(options, context);
  read.accordion_eta = options.Number("eta", 0, 1e6);
  return std::make_unique<Lgreco>("lgreco-accordion", context, std::move(grid), std::move(start),
                                  read);
}

}  // namespace

PolicyRow LgrecoRow() {
  return {{.name = "lgreco",
           .help = "chooses each unit's parameter for the least bytes (or time) within the uniform "
                   "parameter's error",
           .paper = "Markov, Alimohammadi, Frantar, Alistarh, L-GreCo: Layerwise-Adaptive Gradient "
                    "Compression For Efficient Data-parallel Deep Learning, MLSys 2024",
           .options = LgrecoOptionSpecs()},
          MakeLgreco};
}

PolicyRow LgrecoAccordionRow() {
  std::vector<OptionSpec> options = LgrecoOptionSpecs();
  options.push_back(
      {"eta", "0.5", "0 to 1e6",
       "relative change of a unit's gradient norm from which its regime is critical"});
  return {{.name = "lgreco-accordion",
           .help = "chooses as lgreco does, within the error of Accordion's choice",
           .paper = "Markov et al., L-GreCo, MLSys 2024; Agarwal et al., Adaptive Gradient "
                    "Communication via Critical Learning Regime Identification, MLSys 2021",
           .options = std::move(options)},
          MakeLgrecoAccordion};
}

}  // namespace legacy
