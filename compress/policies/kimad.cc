// Kimad (Xin, Canini, Richtarik, Horvath, "Kimad: Adaptive Gradient Compression with Bandwidth
// Awareness", DistributedML 2023) sends as many bytes per step as the measured bandwidth carries in
// a given time. The bandwidth is a moving average of bytes over exposed communication seconds of
// each step; steps whose communication was hidden are ignored. Before the first measurement it uses
// the anchor.
//
// The paper leaves the time to the user. budget=auto is the exposed communication time of the first
// step that sends the anchor's messages and an announcement, as all later steps do. On a network
// that does not change, Kimad then sends what the anchor sends; where bandwidth falls or rises, it
// keeps that time. A fixed time says nothing about the network: 20 ms are more than a dense step
// takes on fast ones.
//
//   uniform    all units get the same position of their grids, the largest that fits the bytes
//   knapsack   Kimad+: least squared error within the bytes (knapsack.h), of worker 0's error-fed
//              gradient of the deciding step; used from the next step on
//
// Decisions are announced (announced_policy.h). If even the smallest choice does not fit, it is
// sent all the same.
#include <utility>

#include "compress/policies/announced_policy.h"
#include "compress/policies/gradient_watch.h"
#include "compress/policies/policy_options.h"

namespace legacy {
namespace {

constexpr std::string_view kSplits[] = {"uniform", "knapsack"};

struct KimadOptions {
  std::optional<double> seconds;  // nothing: auto
  bool knapsack = false;
  int64_t period = 1;
  double smoothing = 0.3;
  int64_t steps = 1000;
};

class Kimad : public AnnouncedPolicy {
 public:
  Kimad(const PolicyContext& context, ParameterGrid grid, Choices start,
        const KimadOptions& options)
      : AnnouncedPolicy(context, std::move(grid), std::move(start)),
        options_(options),
        gradient_(context.units),
        bytes_(this->grid().Bytes()),
        seconds_(options.seconds.value_or(0)) {}
  std::string_view Name() const override { return "kimad"; }
  bool ReadsLocalGradient() const override { return options_.knapsack && IsDue() && KnowsBudget(); }
  void OnLocalGradient(size_t unit, std::span<const float>,
                       std::span<const float> error_fed) override {
    gradient_.Add(context().units[unit], error_fed);
  }
  void OnFeedback(const StepFeedback& feedback) override;
  PolicyTraits Traits() const override { return {.reads_clock = true}; }
  // The first step's bandwidth is known after that step; an automatic budget after the first
  // announcement.
  std::optional<DecisionForecast> DecisionsIn(int64_t total_steps) const override {
    int64_t first = options_.period == 1 ? 2 : options_.period;
    if (!options_.seconds) first += options_.period;
    return DecisionForecast{EndsOfPeriods(total_steps, first, options_.period), "period=1%"};
  }

 protected:
  bool IsDue() const override { return bandwidth_ > 0 && (step().step + 1) % options_.period == 0; }
  Choices Choose() override;
  bool HasDecided() const override { return decided_at_ > 0; }
  DecisionGrounds GroundsOf(size_t unit) const override;
  WorkList ChoosingWork() const override;
  void SaveOwn(StateWriter& out) const override {
    out.Real(bandwidth_);
    out.Real(seconds_);
  }
  void LoadOwn(StateReader& in) override;

 private:
  bool KnowsBudget() const { return seconds_ > 0; }
  Choices Uniform(double budget) const;
  double Budget() const;

  KimadOptions options_;
  GradientSum gradient_;  // gradient of the deciding step
  ChoiceTable bytes_;
  double bandwidth_ = 0;    // bytes per second; 0: not measured yet
  double seconds_ = 0;      // communication time of a step; 0: not known yet
  double decided_at_ = 0;   // bandwidth of the last decision; 0: it kept the anchor
  bool announced_ = false;  // true if this step announced
};

void Kimad::OnFeedback(const StepFeedback& feedback) {
  const bool announced = std::exchange(announced_, false);
  if (!(feedback.communication_seconds > 0) || !(feedback.message_bytes > 0)) return;
  const double sample = feedback.message_bytes / feedback.communication_seconds;
  bandwidth_ = bandwidth_ == 0 ? sample : bandwidth_ + options_.smoothing * (sample - bandwidth_);
  if (!KnowsBudget() && announced) seconds_ = feedback.communication_seconds;
}

// Options are in ascending order of the bytes that they send.
Choices Kimad::Uniform(double budget) const {
  size_t best = 0;
  for (size_t option = 1; option < grid().Options(); ++option) {
    const Choices all(grid().Units(), static_cast<uint8_t>(option));
    if (SumOf(bytes_, all) <= budget) best = option;
  }
  return Choices(grid().Units(), static_cast<uint8_t>(best));
}

Choices Kimad::Choose() {
  announced_ = true;
  if (!KnowsBudget()) return choices();
  decided_at_ = bandwidth_;
  const double budget = Budget();
  if (!options_.knapsack) return Uniform(budget);
  const ChoiceTable errors = SquaredErrors(gradient_.TakeMean());
  gradient_.Clear();
  const auto found = SolveKnapsack(bytes_, errors, budget, options_.steps);
  return found ? *found : LeastOf(bytes_, errors);
}

// Returns the bytes of the last decision. The anchor's own bytes fit the time that they took,
// however that was rounded.
double Kimad::Budget() const {
  constexpr double kRounding = 1e-6;
  return decided_at_ * seconds_ * (1 + kRounding);
}

DecisionGrounds Kimad::GroundsOf(size_t) const {
  if (decided_at_ == 0) return {.reason = "the anchor, whose time becomes the budget"};
  const double budget = Budget();
  const double bytes = SumOf(bytes_, choices());
  return {.budget = budget,
          .seconds = bytes / decided_at_,
          .reason = bytes <= budget ? "the best within the bytes" : "not even the least fits"};
}

WorkList Kimad::ChoosingWork() const {
  if (!options_.knapsack || !KnowsBudget()) return {};
  const auto cells = static_cast<int64_t>(grid().Options() * grid().Units());
  WorkList work = Clearing();
  AddWork(grid().ErrorWork(), work);
  AddWork(Work{"lgreco.solve", cells * options_.steps}, work);
  return work;
}

void Kimad::LoadOwn(StateReader& in) {
  const double bandwidth = in.Real("bandwidth"), seconds = in.Real("seconds");
  in.ExpectEnd();
  bandwidth_ = bandwidth;
  seconds_ = seconds;
}

std::unique_ptr<Policy> MakeKimad(const OptionReader& options, const PolicyContext& context) {
  constexpr GridRange kRange = {.low = 1.0 / 64, .high = 64};
  ParameterGrid grid(*context.scheme, context.units, context.parameter, kRange);
  KimadOptions read = {.seconds = std::nullopt,
                       .knapsack = options.Choice("split", kSplits) == 1,
                       .period = options.Steps("period", 1, context.total_steps),
                       .smoothing = options.Number("smoothing", 0.001, 1),
                       .steps = options.Integer("steps", 100, 1000000)};
  if (options.Text("budget") != "auto") read.seconds = options.Number("budget", 1e-9, 1e9);
  Choices start = grid.Nearest(1);
  return std::make_unique<Kimad>(context, std::move(grid), std::move(start), read);
}

}  // namespace

PolicyRow KimadRow() {
  return {
      {.name = "kimad",
       .help = "sends as many bytes per step as the measured bandwidth carries in a given time",
       .paper = "Xin, Canini, Richtarik, Horvath, Kimad: Adaptive Gradient Compression with "
                "Bandwidth Awareness, DistributedML 2023",
       .options = {{"budget", "auto", "auto, 1e-9 to 1e9",
                    "communication time per step, in seconds; auto: that of the anchor's messages "
                    "in the first measured step"},
                   {"split", "uniform", "uniform, knapsack",
                    "division of the bytes among units; knapsack is Kimad+"},
                   {"period", "1", "1 to 2^53, or a part of the run",
                    "number of steps between decisions"},
                   {"smoothing", "0.3", "0.001 to 1",
                    "weight of a new sample in the moving average of the bandwidth"},
                   {"steps", "1000", "100 to 1000000", "resolution of the knapsack's byte axis"}}},
      MakeKimad,
      {{"budget", VolumeRule::kMultiplied, 1e-9, 1e9}}};
}

}  // namespace legacy
