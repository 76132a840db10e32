#include "scenarios/replay/trace_replay.h"

#include <algorithm>
#include <cmath>

#include "scenarios/replay/replay.h"
#include "scenarios/replay/trace_methods.h"
#include "scenarios/run/timed_run.h"

namespace legacy {
namespace {

constexpr double kUnknown = NAN;  // "nan" in the files, "-" in tables

// Returns the number of values that one worker sends in a step.
double ElementsSent(const TraceStep& step) {
  double elements = 0;
  for (const TraceBucket& bucket : step.buckets) {
    if (bucket.calls.empty()) continue;
    elements += bucket.sent ? static_cast<double>(*bucket.sent) : kUnknown;
  }
  return elements;
}

// A traced training, whose steps are timed again.
class TracedRounds : public Rounds {
 public:
  TracedRounds(const DdpTrace& trace, const TraceTraining& training, uint64_t seed,
               std::span<const TimedNetwork> timed_networks, Progress* progress,
               std::span<const Unit> layers)
      : trace_(trace),
        training_(training),
        timed_(
            timed_networks, progress, training.method, seed,
            [&](const ScenarioTiming& timing) { return timing.MakeClocks(training); }, layers) {}

  bool Next() override {
    if (alike_ == training_.steps.size()) return false;
    const TraceStep& step = training_.steps[alike_];
    const StepFacts facts = {step.learning_rate.value_or(kUnknown), step.loss.value_or(kUnknown),
                             ElementsSent(step)};
    if (done_ == 0) work_ = WorkOf(trace_, step, timed_.Done());
    work_.step = timed_.Done();
    timed_.Step(work_, timed_.Start(), facts);
    if (++done_ < step.count) return true;
    if (!step.metrics.empty()) {
      timed_.Evaluated(step.test_loss.value_or(kUnknown), step.metrics);
    }
    ++alike_;
    done_ = 0;
    return true;
  }

  bool Finish() override {
    timed_.Finish();
    return true;
  }

 private:
  const DdpTrace& trace_;
  const TraceTraining& training_;
  TimedEverywhere timed_;
  size_t alike_ = 0;  // index of the equal steps in progress
  int64_t done_ = 0;  // number of these that are done
  StepWork work_;     // work of each of them
};

class TraceReplayer : public TimedRun {
 public:
  TraceReplayer(const TraceFile& file, const Scenario& scenario, const StopFlag& stop)
      : file_(file),
        trace_(file.trace),
        scenario_(scenario),
        stop_(stop),
        layers_(file.trace.layers),
        timing_(scenario),
        methods_(file, scenario) {}

  ScenarioTiming& Timing() override { return timing_; }
  CostEstimate Estimate(std::FILE* log) override;
  std::string Title() const override { return file_.path + " on "; }
  std::string Devices() const override { return ""; }
  nlohmann::json Manifest(const std::string& program,
                          const std::string& command_line) const override;
  std::string Note() const override { return methods_.Note(); }
  int64_t Steps(size_t timed_networks) const override {
    int64_t steps = 0;
    for (const TraceTraining& training : trace_.trainings) steps += training.Steps();
    return steps * scenario_.seeds + methods_.Steps(timed_networks);
  }
  size_t Count() const override {
    return Traced() + methods_.Trainings(timed_networks().size()).size();
  }
  std::unique_ptr<Rounds> Begin(size_t training) override {
    if (training >= Traced()) {
      return methods_.Begin(training - Traced(), timed_networks(), progress());
    }
    const size_t seed = training % static_cast<size_t>(scenario_.seeds);
    return std::make_unique<TracedRounds>(
        trace_, trace_.trainings[training / static_cast<size_t>(scenario_.seeds)],
        scenario_.seed + seed, timed_networks(), progress(), layers_);
  }

 private:
  bool Stopped() const override { return stop_ != 0; }
  // Returns the number of trainings of the trace itself.
  size_t Traced() const { return trace_.trainings.size() * static_cast<size_t>(scenario_.seeds); }

  const TraceFile& file_;
  const DdpTrace& trace_;
  const Scenario& scenario_;
  const StopFlag& stop_;
  const std::span<const Unit> layers_;
  ScenarioTiming timing_;
  TraceMethods methods_;
};

// Estimates all steps or, if equal steps are memoised, each distinct step of the file once.
CostEstimate TraceReplayer::Estimate(std::FILE* log) {
  CostEstimate estimate(timing_.network());
  for (const TraceTraining& training : trace_.trainings) {
    const StepClocks clocks = timing_.MakeClocks(training);
    int64_t done = 0;
    for (const TraceStep& step : training.steps) {
      const StepStart start = timing_.StartOf(*clocks.front(), scenario_.seed, done);
      const PricedStep priced = timing_.Price(*clocks.front(), WorkOf(trace_, step, done), start);
      estimate.Add(priced.traffic, timing_.Memoises() ? 1 : step.count * scenario_.seeds);
      done += step.count;
    }
  }
  methods_.Estimate(timing_, log, estimate);
  return estimate;
}

// Returns the manifest. It states nothing that our trainings have and a trace does not.
nlohmann::json TraceReplayer::Manifest(const std::string& program,
                                       const std::string& command_line) const {
  int64_t elements = 0;
  for (const Unit& layer : trace_.layers) elements += layer.numel;
  nlohmann::json manifest =
      ManifestDocument(scenario_, program, command_line, trace_.metrics, elements, {});
  nlohmann::json& configuration = manifest["configuration"];
  configuration.erase("methods");
  for (const ScenarioOption& option : ScenarioOptions()) {
    if (MayTraceReplayChange(option)) continue;
    if (!methods_.Empty() && option.Has(kOfMethods)) continue;
    if (option.key == "training.workers" || option.key == "training.steps") continue;
    nlohmann::json& section = configuration[option.Section()];
    section.erase(option.NameInSection());
    if (section.empty()) configuration.erase(option.Section());
  }
  manifest["policies"].clear();
  for (const TraceTraining& training : trace_.trainings) {
    manifest["policies"].push_back(training.method);
  }
  manifest["replayed"] = {{"trace", file_.path}};
  methods_.Describe(manifest);
  return manifest;
}

}  // namespace

Scenario ReplayDefaults(const TraceFile& file) {
  Scenario scenario;
  scenario.workers = file.trace.workers;
  scenario.steps = 0;
  for (const TraceTraining& training : file.trace.trainings) {
    scenario.steps = std::max<int64_t>(scenario.steps, training.Steps());
  }
  scenario.stragglers = "none";
  scenario.further = "none";
  scenario.policies = {};
  return scenario;
}

bool MayTraceReplayChange(const ScenarioOption& option) {
  // A trace has its own device times.
  if (option.Has(kOfMethods)) return false;
  return option.Has(kMayReplay) || option.key == "run.seed" || option.key == "run.seeds";
}

void CheckReplay(const TraceFile& file, const Scenario& scenario) {
  TargetAmong(scenario, file.trace.metrics);
  const bool compresses = !scenario.policies.empty();
  const auto may_change = [&](const ScenarioOption& option) {
    return MayTraceReplayChange(option) || (compresses && option.Has(kOfMethods));
  };
  CheckUnchanged(scenario, ReplayDefaults(file), may_change, [&](const std::string&) {
    return "nothing: " + file.path +
           " says what was trained; a replay changes the network, the speeds of devices and "
           "codecs and, with --policies, how gradients are compressed";
  });
}

RunResult Replay(const TraceFile& file, const Scenario& scenario, const std::string& program,
                 const std::string& command_line, const StopFlag& stop, std::FILE* log) {
  CheckReplay(file, scenario);
  return FillRunDirectory(
      scenario, program, command_line,
      [&](const Scenario& chosen) { return std::make_unique<TraceReplayer>(file, chosen, stop); },
      log);
}

}  // namespace legacy
