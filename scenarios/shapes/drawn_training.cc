#include "scenarios/shapes/drawn_training.h"

#include <limits>
#include <utility>

#include "base/archive.h"
#include "base/error.h"
#include "compress/state_section.h"
#include "trainer/update_work.h"
#include "trainer/weight_codec.h"

namespace legacy {
namespace {

constexpr double kNotTrained = std::numeric_limits<double>::quiet_NaN();

std::unique_ptr<Policy> Checked(std::unique_ptr<Policy> policy) {
  const std::string needs(policy->Traits().needs_training);
  if (needs.empty()) return policy;
  throw Error("policy " + std::string(policy->Name()) + ": it decides by " + needs +
              " of a training, and a shape is not trained");
}

}  // namespace

DrawnTraining::DrawnTraining(const TrainingOptions& options, const ModelShape& shape,
                             int64_t steps_per_epoch, const DrawnGradients& gradients,
                             std::unique_ptr<Policy> policy, std::unique_ptr<Scheme> scheme,
                             Grouping group, ExpertUnits experts)
    : options_(options),
      shape_(shape),
      steps_per_epoch_(steps_per_epoch),
      group_(std::move(group)),
      weights_(options.weights ? options.weights->WorkOf(shape.layers) : std::vector<WeightWork>()),
      policy_(Checked(std::move(policy))),
      scheme_(std::move(scheme)),
      aggregation_(Open(PlanUnits(shape.layers, options.scope, options.buckets), gradients,
                        std::move(experts))) {
  CheckSchedule(options.schedule);
}

Aggregation DrawnTraining::Open(UnitPlan plan, const DrawnGradients& gradients,
                                ExpertUnits experts) {
  experts.units.assign(plan.units.size(), false);
  for (const OperationCost& cost : shape_.costs) {
    for (const int layer : cost.parameters) {
      // Units are the layers, as messages to owners have it.
      if (cost.experts > 0 && experts.scheme) experts.units.at(static_cast<size_t>(layer)) = true;
    }
  }
  auto exchange = std::make_unique<DrawnExchange>(*scheme_, plan.units, options_.workers, gradients,
                                                  std::move(experts));
  exchange_ = exchange.get();
  return Aggregation(std::move(plan), *policy_, options_.workers, std::move(exchange));
}

StepOutcome DrawnTraining::Step(std::span<const int> active_workers) {
  StepOutcome outcome;
  outcome.step = step_;
  outcome.learning_rate = LearningRate(options_.schedule, step_, options_.total_steps);
  outcome.loss = kNotTrained;
  outcome.work.step = step_;
  outcome.work.workers = options_.workers;
  outcome.work.batch_size = options_.batch_size;
  if (std::ssize(active_workers) < options_.workers) {
    outcome.work.active_workers.assign(active_workers.begin(), active_workers.end());
  }
  const double before = std::exchange(last_rate_, outcome.learning_rate);
  if (options_.rescale_residuals && before > 0 && last_rate_ > 0 && before != last_rate_) {
    aggregation_.RescaleResiduals(static_cast<float>(before / last_rate_));
  }
  buckets_.clear();
  outcome.units.resize(Units().size());
  outcome.work.passes = options_.passes;
  const bool exchanges = (step_ + 1) % options_.local_steps == 0;
  if (exchanges) {
    const StepInfo info{.seed = options_.seed,
                        .step = step_,
                        .total_steps = options_.total_steps,
                        .learning_rate = outcome.learning_rate,
                        .steps_per_epoch = steps_per_epoch_,
                        .link = link_,
                        .active_workers = {active_workers.begin(), active_workers.end()}};
    aggregation_.Begin(info);
    const int worker = info.ActiveWorkers(options_.workers).front();
    std::vector<float> drawn;
    aggregation_.AddGradient(worker, nullptr, [&](size_t unit) {
      drawn = exchange_->Draw(unit, worker);
      return std::span<const float>(drawn);
    });
    aggregation_.Finish(nullptr);
    buckets_ = aggregation_.Buckets();
    ChargeCasts(*scheme_, options_, buckets_);
    if (group_) buckets_ = group_(step_, std::move(buckets_));
    outcome.units = aggregation_.Outcomes();
  }
  WriteUpdateWork({*scheme_, options_, step_, exchanges, shape_.Elements()}, outcome.work);
  outcome.work.buckets = buckets_;
  outcome.work.weights = weights_;
  ++step_;
  return outcome;
}

void DrawnTraining::OnFeedback(const StepTimes& times) {
  aggregation_.OnFeedback({.step = step_ - 1, .loss = kNotTrained, .mean_gradient = {}}, buckets_,
                          times);
}

namespace {

constexpr const char* kDrawnSection = "drawn";

}  // namespace

void DrawnTraining::Save(SectionWriter& out) const {
  WriteSection(out, kDrawnSection, [&](StateWriter& state) {
    ToArchive(state, step_, last_rate_);
    SavePolicy(*policy_, state);
    exchange_->SaveShared(state);
  });
}

void DrawnTraining::Load(const SectionFile& in) {
  ReadSection(in, kDrawnSection, [&](StateReader& state) {
    FromArchive(state, step_, last_rate_);
    LoadPolicy(*policy_, state);
    exchange_->LoadShared(state);
  });
}

Evaluation DrawnTraining::Evaluate() { return {kNotTrained, {}}; }

BackendReport DrawnTraining::Report() const {
  const int64_t drawn = exchange_->UnitsDrawn();
  return {.device = "none",
          .name = "",
          .compression = drawn == 0
                             ? "lengths from shapes alone"
                             : std::to_string(drawn) + " of " + std::to_string(Units().size()) +
                                   " units: lengths of drawn gradients",
          .steps = ""};
}

}  // namespace legacy
