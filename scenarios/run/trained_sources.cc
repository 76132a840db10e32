// Sources of the trainings of a model on a data set.
#include <algorithm>

#include "scenarios/run/step_sources.h"
#include "trainer/accelerator.h"
#include "trainer/data/data_catalog.h"
#include "trainer/data/dataset.h"
#include "trainer/models/model.h"

namespace legacy {
namespace {

ModelRequest ModelOf(const Scenario& s, const Dataset& data, uint64_t seed) {
  return {s.model, data.channels(), data.height(), data.width(), data.classes, seed};
}

class Trained : public StepSources {
 public:
  explicit Trained(const Scenario& scenario)
      : scenario_(scenario),
        device_(ChooseDevice(*scenario.device)),
        dataset_(LoadDataset(
            {scenario.dataset, scenario.data_root, scenario.train_limit, scenario.test_limit})),
        layers_(LayersOf(*MakeModel(ModelOf(scenario, dataset_, scenario.seed)))) {}

  std::string Title() const override { return scenario_.model; }
  std::span<const Unit> Layers() const override { return layers_; }
  int64_t StepsPerEpoch() const override {
    const int64_t samples = dataset_.train_labels.size(0);
    return std::max<int64_t>(1, samples / (int64_t{scenario_.workers} * scenario_.batch));
  }
  std::span<const Metric> Metrics() const override {
    return InfoOf(FindInCatalog(scenario_.dataset).task).metrics;
  }
  std::unique_ptr<StepSource> Make(const TrainingOptions& given, BuiltMethod method) override {
    TrainingOptions options = given;
    options.accelerator = device_.accelerator;
    return std::make_unique<Training>(options, dataset_, ModelOf(scenario_, dataset_, options.seed),
                                      std::move(method.policy), std::move(method.scheme));
  }

  std::string Announcement() const override {
    if (device_.reason.empty()) return "";
    return std::string("device auto: ") + (device_.accelerator ? "cuda" : "cpu") + ", as " +
           device_.reason;
  }
  std::string Text(const BackendReport& report) const override {
    if (!device_.accelerator) return "";
    return "on " + report.device + " (" + report.name + "), compressed " + report.compression +
           "; steps queued as: " + report.steps;
  }
  void Describe(const BackendReports& reports, nlohmann::json& manifest) const override {
    const HostLibraries host = DescribeHostLibraries();
    manifest["versions"]["cpu_capability"] = host.cpu_capability;
    manifest["versions"]["blas"] = host.blas;
    nlohmann::json& document = manifest["device"] = {{"name", "cpu"}};
    if (!device_.reason.empty()) document["reason"] = device_.reason;
    for (const auto& [method, report] : reports) {
      if (!device_.accelerator) break;
      document["name"] = report.device;
      document["accelerator"] = report.name;
      document["compression"][method] = report.compression;
      document["steps"][method] = report.steps;
    }
  }

 private:
  const Scenario& scenario_;
  DeviceChoice device_;
  Dataset dataset_;
  std::vector<Unit> layers_;
};

}  // namespace

}  // namespace legacy

// Makes the sources; training_module.cc looks this function up. The caller owns the result.
extern "C" legacy::StepSources* legacy_trained_sources(const legacy::Scenario& scenario) {
  return std::make_unique<legacy::Trained>(scenario).release();
}
