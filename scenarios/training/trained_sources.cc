// Sources of the trainings of a model on a data set.
#include <algorithm>

#include "scenarios/training/scenario_task.h"
#include "scenarios/training/step_sources.h"
#include "trainer/processes/nccl_carrier.h"
#include "trainer/torch/accelerator.h"
#include "trainer/torch/host_kernels.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/processes/gloo_group.h"
#include "trainer/torch/tasks/task.h"
#include "trainer/torch/training.h"

namespace legacy {
namespace {

class Trained : public StepSources {
 public:
  Trained(const Scenario& scenario, const ProcessGroup& processes)
      : scenario_(scenario),
        device_(ChooseDevice(*scenario.device, processes.local_rank())),
        task_(TaskOf(scenario)),
        layers_(LayersOf(ModelOf(scenario, *task_, scenario.seed))),
        steps_per_epoch_(
            task_->Open({scenario.workers, scenario.batch * scenario.accumulate, scenario.seed})
                ->StepsPerEpoch()) {}

  std::span<const Unit> Layers() const override { return layers_; }
  int64_t StepsPerEpoch() const override { return steps_per_epoch_; }
  std::optional<HostModel> InHostMemory() const override {
    if (device_.accelerator) return std::nullopt;
    return HostModel{layers_, CostsOf(ModelOf(scenario_, *task_, scenario_.seed))};
  }
  std::span<const Metric> Metrics() const override { return task_->Info().metrics; }
  void Connect(ProcessGroup& processes) override {
    if (*scenario_.device == DeviceRequest::kCpu) return;
    const int gpu = device_.accelerator ? device_.accelerator->device().index() : -1;
    std::string why;
    std::unique_ptr<Carrier> carrier = OpenNccl(processes, gpu, &why);
    carried_ = carrier ? "NCCL" : "Gloo, as " + why;
    processes.CarryBy(std::move(carrier));
  }
  std::unique_ptr<StepSource> Make(const TrainingOptions& given, const Method&,
                                   BuiltMethod built) override {
    TrainingOptions options = given;
    options.accelerator = device_.accelerator;
    return std::make_unique<Training>(options, *task_, ModelOf(scenario_, *task_, options.seed),
                                      std::move(built.policy), std::move(built.scheme));
  }

  std::string Announcement() const override {
    std::string text;
    if (!device_.reason.empty()) {
      text = std::string("device auto: ") + (device_.accelerator ? "cuda" : "cpu") + ", as " +
             device_.reason;
    }
    if (!carried_.empty()) {
      text += (text.empty() ? "" : "\n") + ("messages between the processes: " + carried_);
    }
    return text;
  }
  std::string Text(const BackendReport& report) const override {
    if (!device_.accelerator) return "";
    return "on " + report.device + " (" + report.name + "), compressed " + report.compression +
           "; steps queued as: " + report.steps;
  }
  void Describe(const BackendReports& reports, nlohmann::json& manifest) const override {
    DescribeHostKernels(manifest["versions"]);
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
  std::string carried_;  // how messages travel between processes; empty: none connected
  std::unique_ptr<Task> task_;
  std::vector<Unit> layers_;
  int64_t steps_per_epoch_;
};

}  // namespace

}  // namespace legacy

// Makes the sources; training_module.cc looks this function up. The caller owns the result.
extern "C" legacy::StepSources* legacy_trained_sources(const legacy::Scenario& scenario,
                                                       const legacy::ProcessGroup& processes) {
  return std::make_unique<legacy::Trained>(scenario, processes).release();
}

// Makes LibTorch and its libraries choose kernels.
extern "C" void legacy_settle_kernels(legacy::Processor processor) {
  legacy::SettleHostKernels(processor);
}

// Joins the processes of a launch. The caller owns the result.
extern "C" legacy::ProcessGroup* legacy_join_processes(const legacy::Launch& launch,
                                                       const legacy::StopFlag& stop) {
  return legacy::JoinGlooGroup(launch, stop).release();
}
