// Makes the steps of a model of which only the shape is known.
#include <algorithm>
#include <utility>

#include "scenarios/options/divided_shape.h"
#include "scenarios/shapes/drawn_training.h"
#include "scenarios/training/step_sources.h"

namespace legacy {
namespace {

constexpr int64_t kDrawnEpochs = 10;  // epochs of a run, for policies that count epochs

class Drawn : public StepSources {
 public:
  Drawn(const Scenario& scenario, ModelShape shape, Grouping group)
      : scenario_(scenario), shape_(std::move(shape)), group_(std::move(group)) {}

  std::span<const Unit> Layers() const override { return shape_.layers; }
  int64_t StepsPerEpoch() const override {
    return std::max<int64_t>(1, scenario_.steps / kDrawnEpochs);
  }
  std::span<const Metric> Metrics() const override { return {}; }
  std::unique_ptr<StepSource> Make(const TrainingOptions& given, const Method& method,
                                   BuiltMethod built) override {
    TrainingOptions options = given;
    // Each layer is first a bucket of its own, and buckets are grouped later.
    const bool owned = built.scheme->Traits().owners > 0;
    if (group_ && options.scope == Scope::kLayer) options.buckets = {1, 1};
    return std::make_unique<DrawnTraining>(
        options, shape_, StepsPerEpoch(),
        DrawnGradients{.text = scenario_.gradients, .steps = scenario_.drawn_steps},
        std::move(built.policy), std::move(built.scheme), owned ? nullptr : group_,
        ExpertUnits{.scheme = owned ? ExpertSchemeOf(method, scenario_) : nullptr,
                    .ranks = scenario_.parallel->expert});
  }

  std::string Text(const BackendReport& report) const override { return report.compression; }
  void Describe(const BackendReports& reports, nlohmann::json& manifest) const override {
    nlohmann::json& document = manifest["shape"] = {{"name", shape_.name},
                                                    {"title", shape_.title},
                                                    {"source", shape_.source},
                                                    {"sample", shape_.sample},
                                                    {"tensors", shape_.layers.size()},
                                                    {"multiply_adds", shape_.MultiplyAdds()},
                                                    {"has_costs", shape_.has_costs}};
    for (const auto& [method, report] : reports) document["lengths"][method] = report.compression;
  }
  std::string Note(const BackendReports&) const override {
    std::string note =
        "Shape " + shape_.name + " alone: bytes and times, no metric; nothing was trained.";
    if (!shape_.has_costs) {
      note += " The file gives no costs: computing takes no time.";
    }
    return note;
  }

 private:
  const Scenario& scenario_;
  ModelShape shape_;
  Grouping group_;
};

}  // namespace

std::unique_ptr<StepSources> DrawnSources(const Scenario& scenario) {
  return DrawnSources(scenario, DividedShape(scenario), nullptr);
}

std::unique_ptr<StepSources> DrawnSources(const Scenario& scenario, ModelShape shape,
                                          Grouping group) {
  return std::make_unique<Drawn>(scenario, std::move(shape), std::move(group));
}

}  // namespace legacy
