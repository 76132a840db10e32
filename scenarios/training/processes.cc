#include "scenarios/training/processes.h"

#include <cstdlib>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/error.h"
#include "scenarios/training/in_steps.h"

namespace legacy {
namespace {

enum class Command : uint8_t { kConnect, kMake, kDrop, kStep, kEvaluate, kSave, kLoad, kEnd };

template <class... Values>
void Send(ProcessGroup& processes, Command command, const Values&... values) {
  StateWriter out;
  ToArchive(out, command, values...);
  processes.Broadcast(out.Take(), 0);
}

// A LeadSource is process 0's part of a training.
class LeadSource : public StepSource {
 public:
  LeadSource(uint64_t id, std::unique_ptr<StepSource> own, ProcessGroup& processes)
      : id_(id), own_(std::move(own)), processes_(processes) {}
  // While an error unwinds the stack, the other processes learn about the error, and there is
  // nothing to drop.
  ~LeadSource() override {
    if (std::uncaught_exceptions() > 0) return;
    try {
      Send(processes_, Command::kDrop, id_);
    } catch (const Error&) {
      // The next call of the group throws the error again.
    }
  }

  StepOutcome Step(std::span<const int> active_workers) override {
    Send(processes_, Command::kStep, id_,
         std::vector<int>(active_workers.begin(), active_workers.end()));
    return own_->Step(active_workers);
  }
  Evaluation Evaluate() override {
    Send(processes_, Command::kEvaluate, id_);
    return own_->Evaluate();
  }
  void Save(SectionWriter& out) const override {
    Send(processes_, Command::kSave, id_);
    own_->Save(out);
  }
  void Load(const SectionFile& in) override {
    Send(processes_, Command::kLoad, id_);
    own_->Load(in);
  }

  void OnFeedback(const StepTimes& times) override { own_->OnFeedback(times); }
  std::vector<Decision> TakeDecisions() override { return own_->TakeDecisions(); }
  void SetLink(const LinkEstimate& link) override { own_->SetLink(link); }
  std::span<const Metric> Metrics() const override { return own_->Metrics(); }
  void SetGradientHook(GradientHook hook) override { own_->SetGradientHook(std::move(hook)); }
  BackendReport Report() const override { return own_->Report(); }
  std::string CannotSave() const override { return own_->CannotSave(); }
  std::span<const Unit> Layers() const override { return own_->Layers(); }
  std::span<const Unit> Units() const override { return own_->Units(); }
  std::span<const OperationCost> Costs() const override { return own_->Costs(); }

 private:
  const uint64_t id_;
  const std::unique_ptr<StepSource> own_;
  ProcessGroup& processes_;
};

}  // namespace

void LeadConnect(StepSources& sources, ProcessGroup& processes) {
  if (processes.Alone()) return;
  Send(processes, Command::kConnect);
  sources.Connect(processes);
}

std::unique_ptr<StepSource> Lead(const TrainingRequest& request,
                                 const std::function<std::unique_ptr<StepSource>()>& make,
                                 ProcessGroup& processes) {
  static uint64_t next = 0;
  const uint64_t id = next++;
  Send(processes, Command::kMake, id, request);
  return std::make_unique<LeadSource>(id, make(), processes);
}

namespace {

// Follows the commands of process 0 until it ends.
void Follow(const Scenario& given, ProcessGroup& processes) {
  const Scenario scenario = InSteps(given, processes);
  const std::unique_ptr<StepSources> sources = TrainedSources(scenario, processes);
  std::map<uint64_t, std::unique_ptr<StepSource>> trainings;
  for (;;) {
    const Bytes bytes = processes.Broadcast({}, 0);
    StateReader in(bytes);
    Command command = Command::kEnd;
    FromArchive(in, command);
    if (command == Command::kEnd) return;
    if (command == Command::kConnect) {
      sources->Connect(processes);
      continue;
    }
    uint64_t id = 0;
    FromArchive(in, id);
    if (command == Command::kMake) {
      TrainingRequest request;
      FromArchive(in, request);
      trainings[id] = MakeRequested(request, scenario, *sources, processes);
      continue;
    }
    StepSource& training = *trainings.at(id);
    switch (command) {
      case Command::kStep: {
        std::vector<int> active_workers;
        FromArchive(in, active_workers);
        training.Step(active_workers);
        break;
      }
      case Command::kEvaluate:
        training.Evaluate();
        break;
      case Command::kSave:
        training.JoinSave();
        break;
      case Command::kLoad:
        training.JoinLoad();
        break;
      default:
        trainings.erase(id);
    }
  }
}

void CheckProcesses(const Scenario& scenario, int processes) {
  if (!scenario.layers.empty()) {
    throw Error("processes", std::to_string(processes),
                "1 with --layers, which trains nothing that could be shared");
  }
  if (scenario.jobs > 1) {
    throw Error("run.jobs (--jobs)", std::to_string(scenario.jobs),
                "1 where several processes share each training");
  }
  if (processes > scenario.workers) {
    throw Error("processes", std::to_string(processes),
                "at most " + std::to_string(scenario.workers) + ", the number of workers");
  }
}

constexpr double kReapSeconds = 10;

}  // namespace

std::optional<Launch> LaunchOf(const Scenario& scenario) {
  if (scenario.processes == 1) return std::nullopt;
  const auto environment = [](const char* name) { return std::getenv(name); };
  if (scenario.processes == 0) {
    std::optional<Launch> launch = ReadLaunch(environment, scenario.master);
    if (launch) CheckProcesses(scenario, launch->size);
    return launch;
  }
  CheckProcesses(scenario, scenario.processes);
  return ForkProcesses(scenario.processes);
}

void RunTogether(const Launch& launch, const Scenario& scenario, const std::string& same,
                 const StopFlag& stop, const std::function<void(ProcessGroup&)>& run) {
  std::unique_ptr<ProcessGroup> processes;
  try {
    processes = JoinProcesses(launch, *scenario.processor, stop);
    processes->Meet(same);
    if (processes->Leads()) {
      run(*processes);
      Send(*processes, Command::kEnd);
    } else {
      const StopScope scope;  // process 0 decides when all processes stop
      Follow(scenario, *processes);
    }
    processes->End();
    ReapProcesses(kReapSeconds);
  } catch (const std::exception& error) {
    const bool told = processes && processes->Fail(error.what());
    ReapProcesses(kReapSeconds);
    if (told && !processes->Leads()) std::exit(1);
    throw;
  }
}

}  // namespace legacy
