// A drawn training makes steps of a model of which only the shape is known: it has no weights, no
// data, no loss and no metric. Message lengths are exact where they follow from shapes, and
// elsewhere those of drawn gradients (drawn_exchange.h).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "scenarios/options/model_shape.h"
#include "scenarios/shapes/drawn_exchange.h"
#include "scenarios/training/step_sources.h"
#include "trainer/aggregation.h"
#include "trainer/step_source.h"
#include "trainer/training_options.h"

namespace legacy {

// Returns the buckets in which a step sends what its units send. `units` has the work of each
// bucket of the plan.
using Grouping =
    std::function<std::vector<BucketWork>(int64_t step, std::vector<BucketWork> units)>;

// A DrawnTraining is a StepSource without a model.
class DrawnTraining : public StepSource {
 public:
  // `shape` outlives this. The optimizer's part of `options` has no effect. `steps_per_epoch` is
  // for policies that count epochs. `group` is asked in each step that sends; null: the plan's
  // buckets travel. The units of `experts` are found by the shape. Throws Error where the policy
  // needs values that only a training has.
  DrawnTraining(const TrainingOptions& options, const ModelShape& shape, int64_t steps_per_epoch,
                const DrawnGradients& gradients, std::unique_ptr<Policy> policy,
                std::unique_ptr<Scheme> scheme, Grouping group = nullptr, ExpertUnits experts = {});

  StepOutcome Step(std::span<const int> active_workers = {}) override;
  void OnFeedback(const StepTimes& times) override;
  std::vector<Decision> TakeDecisions() override { return policy_->TakeDecisions(); }
  void SetLink(const LinkEstimate& link) override { link_ = link; }

  std::span<const Metric> Metrics() const override { return {}; }
  // Returns NaN.
  Evaluation Evaluate() override;
  void SetGradientHook(GradientHook) override {}
  BackendReport Report() const override;
  std::string CannotSave() const override { return ""; }
  // The only section is "drawn".
  void Save(SectionWriter& out) const override;
  void Load(const SectionFile& in) override;

  std::span<const Unit> Layers() const override { return shape_.layers; }
  std::span<const Unit> Units() const override { return aggregation_.plan().units; }
  std::span<const OperationCost> Costs() const override { return shape_.costs; }

 private:
  Aggregation Open(UnitPlan plan, const DrawnGradients& gradients, ExpertUnits experts);

  TrainingOptions options_;
  const ModelShape& shape_;
  int64_t steps_per_epoch_;
  Grouping group_;
  std::vector<WeightWork> weights_;  // that are gathered as messages
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Scheme> scheme_;
  DrawnExchange* exchange_;  // exchange of the aggregation
  Aggregation aggregation_;
  LinkEstimate link_;
  std::vector<BucketWork> buckets_;  // buckets of the last step
  int64_t step_ = 0;
  double last_rate_ = 0;
};

// Returns the sources of a shape whose units' work `group` puts into buckets (see above).
// `scenario` outlives them.
std::unique_ptr<StepSources> DrawnSources(const Scenario& scenario, ModelShape shape,
                                          Grouping group);

}  // namespace legacy
