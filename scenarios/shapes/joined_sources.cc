// Makes the steps of a model that is trained at a small size, and timed as one of which only the
// shape is known: losses and metrics are those of the trained model, and bytes and work are those
// of the shape. Policies decide separately for each of the two, by its own layers.
#include <utility>

#include "base/metric.h"
#include "scenarios/options/model_shape.h"
#include "scenarios/shapes/drawn_training.h"
#include "scenarios/training/step_sources.h"
#include "scenarios/training/training_request.h"

namespace legacy {
namespace {

class JoinedTraining : public StepSource {
 public:
  JoinedTraining(std::unique_ptr<StepSource> learnt, std::unique_ptr<StepSource> timed)
      : learnt_(std::move(learnt)), timed_(std::move(timed)) {}

  StepOutcome Step(std::span<const int> active_workers) override {
    const StepOutcome learnt = learnt_->Step(active_workers);
    StepOutcome outcome = timed_->Step(active_workers);
    outcome.learning_rate = learnt.learning_rate;
    outcome.loss = learnt.loss;
    return outcome;
  }
  void OnFeedback(const StepTimes& times) override {
    learnt_->OnFeedback({});  // times are of the shape's buckets; no policy here reads them
    timed_->OnFeedback(times);
  }
  std::vector<Decision> TakeDecisions() override {
    learnt_->TakeDecisions();
    return timed_->TakeDecisions();
  }
  void SetLink(const LinkEstimate& link) override {
    learnt_->SetLink(link);
    timed_->SetLink(link);
  }

  std::span<const Metric> Metrics() const override { return learnt_->Metrics(); }
  Evaluation Evaluate() override { return learnt_->Evaluate(); }
  void SetGradientHook(GradientHook hook) override { learnt_->SetGradientHook(std::move(hook)); }
  BackendReport Report() const override { return learnt_->Report(); }
  std::string CannotSave() const override { return learnt_->CannotSave(); }
  void Save(SectionWriter& out) const override {
    learnt_->Save(out);
    timed_->Save(out);
  }
  void Load(const SectionFile& in) override {
    learnt_->Load(in);
    timed_->Load(in);
  }

  std::span<const Unit> Layers() const override { return timed_->Layers(); }
  std::span<const Unit> Units() const override { return timed_->Units(); }
  std::span<const OperationCost> Costs() const override { return timed_->Costs(); }

 private:
  const std::unique_ptr<StepSource> learnt_;
  const std::unique_ptr<StepSource> timed_;
};

class Joined : public StepSources {
 public:
  Joined(const Scenario& scenario, std::unique_ptr<StepSources> learnt)
      : scenario_(scenario),
        learnt_(std::move(learnt)),
        shape_(LoadModelShape(scenario.times_of)) {}

  std::span<const Unit> Layers() const override { return shape_.layers; }
  int64_t StepsPerEpoch() const override { return learnt_->StepsPerEpoch(); }
  std::optional<HostModel> InHostMemory() const override { return learnt_->InHostMemory(); }
  std::span<const Metric> Metrics() const override { return learnt_->Metrics(); }
  void Connect(ProcessGroup& processes) override { learnt_->Connect(processes); }
  std::unique_ptr<StepSource> Make(const TrainingOptions& options, const Method& method,
                                   BuiltMethod built) override {
    TrainingOptions at_size = options;
    at_size.batch_size = shape_.batch;
    auto timed = std::make_unique<DrawnTraining>(
        at_size, shape_, StepsPerEpoch(),
        DrawnGradients{.text = scenario_.gradients, .steps = scenario_.drawn_steps},
        std::move(built.policy), std::move(built.scheme));
    const std::vector<Unit> units = UnitsOf(method, scenario_, learnt_->Layers());
    auto learnt =
        learnt_->Make(options, method, BuildMethod(method, scenario_, units, StepsPerEpoch()));
    return std::make_unique<JoinedTraining>(std::move(learnt), std::move(timed));
  }

  std::string Announcement() const override { return learnt_->Announcement(); }
  std::string Text(const BackendReport& report) const override { return learnt_->Text(report); }
  void Describe(const BackendReports& reports, nlohmann::json& manifest) const override {
    learnt_->Describe(reports, manifest);
    manifest["times_of"] = {{"name", shape_.name},
                            {"title", shape_.title},
                            {"source", shape_.source},
                            {"batch", shape_.batch},
                            {"batch_source", shape_.batch_source}};
  }
  std::string Note(const BackendReports&) const override {
    std::string note = Capitalised(TimesOfText(scenario_)) + ".";
    if (!shape_.has_costs) note += " The file gives no costs: computing takes no time.";
    return note;
  }

 private:
  const Scenario& scenario_;
  const std::unique_ptr<StepSources> learnt_;
  const ModelShape shape_;
};

}  // namespace

std::unique_ptr<StepSources> JoinedSources(const Scenario& scenario,
                                           std::unique_ptr<StepSources> learnt) {
  return std::make_unique<Joined>(scenario, std::move(learnt));
}

}  // namespace legacy
