#include "scenarios/replay/trace_methods.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>

#include "base/error.h"
#include "scenarios/run/workers/method_rows.h"
#include "scenarios/shapes/drawn_training.h"
#include "trainer/processes/process_group.h"

namespace legacy {
namespace {

constexpr const char* kPolicies = "compression.policies (--policies)";

// Returns the layers of a trace as a shape. Its operations take no time, because the trace has
// times.
ModelShape ShapeOf(const TraceFile& file) {
  ModelShape shape;
  shape.name = std::filesystem::path(file.path).stem().string();
  shape.layers = file.trace.layers;
  shape.has_costs = false;
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    shape.costs.push_back({.kind = "elementwise", .parameters = {static_cast<int>(i)}});
  }
  return shape;
}

// Checks that each step of the training sends all layers.
void CheckSendsAll(const TraceFile& file, const TraceTraining& training) {
  int64_t done = 0;
  for (const TraceStep& step : training.steps) {
    std::set<int> sent;
    for (const TraceBucket& bucket : step.buckets) {
      if (bucket.calls.empty()) continue;
      for (const auto& [first, last] : bucket.layers) {
        for (int i = std::min(first, last); i <= std::max(first, last); ++i) sent.insert(i);
      }
    }
    for (size_t i = 0; i < file.trace.layers.size(); ++i) {
      if (sent.contains(static_cast<int>(i))) continue;
      throw Error(file.path + ": step " + std::to_string(done) + " of method " + training.method +
                  " does not send layer " + file.trace.layers[i].name +
                  "; methods compress trainings whose steps send all layers");
    }
    done += step.count;
  }
}

// Puts the units into the buckets of a traced step.
std::vector<BucketWork> InBucketsOf(const TraceStep& step, std::vector<BucketWork> units) {
  std::vector<std::vector<BucketWork>> parts(step.buckets.size());
  std::vector<BucketWork> behind;  // units that belong to no layer
  for (BucketWork& unit : units) {
    const std::optional<size_t> last = LastBucketOf(step, unit.layers);
    (last ? parts[*last] : behind).push_back(std::move(unit));
  }
  std::vector<BucketWork> buckets;
  for (const std::vector<BucketWork>& part : parts) {
    std::ranges::move(MergeUnits(part), std::back_inserter(buckets));
  }
  std::ranges::move(behind, std::back_inserter(buckets));
  return buckets;
}

// Returns the scenario of those methods that are not the trace's own.
Scenario ScenarioOf(const TraceFile& file, const Scenario& replay) {
  Scenario scenario = replay;
  scenario.layers = file.path;  // nothing is trained
  scenario.steps = file.trace.trainings.front().Steps();
  std::erase_if(scenario.policies, [&](const std::string& name) {
    return std::ranges::any_of(file.trace.trainings, [&](const TraceTraining& training) {
      return training.method == name;
    });
  });
  return scenario;
}

// A training with a method: nothing learns, and a step computes for as long as in the trace.
class CompressedRounds : public Rounds {
 public:
  CompressedRounds(const TraceSteps& steps, const Scenario& scenario, const std::string& name,
                   uint64_t seed, std::unique_ptr<StepSource> source,
                   std::span<const TimedNetwork> timed_networks, Progress* progress,
                   const std::function<StepClocks(const ScenarioTiming&)>& clocks)
      : steps_(steps),
        row_{name, seed, scenario.steps, scenario.workers},
        source_(std::move(source)),
        layers_(source_->Layers()),
        own_(*timed_networks.front().timing),
        timed_(timed_networks, progress, name, seed, clocks, layers_),
        stats_(source_->Units().size()) {}

  bool Next() override {
    const int64_t step = timed_.Done();
    if (step == row_.steps) return false;
    source_->SetLink(own_.LinkAt(step));
    const StepOutcome outcome = source_->Step();
    timed_.Step(outcome.work, timed_.Start(),
                {steps_.At(step).learning_rate.value_or(NAN), NAN, stats_.Add(outcome.units, 1)});
    source_->OnFeedback(timed_.Times());
    WriteDecisions(row_, *source_, timed_);
    return true;
  }

  bool Finish() override {
    WriteLayers(row_, *source_, stats_, timed_);
    timed_.Finish();
    return true;
  }

 private:
  const TraceSteps& steps_;
  const MethodRow row_;
  const std::unique_ptr<StepSource> source_;
  const std::span<const Unit> layers_;
  ScenarioTiming& own_;
  TimedEverywhere timed_;
  UnitStats stats_;
};

}  // namespace

TraceMethods::TraceMethods(const TraceFile& file, const Scenario& scenario)
    : base_(file.trace.trainings.front()), steps_(base_), scenario_(ScenarioOf(file, scenario)) {
  if (scenario_.policies.empty()) return;
  CheckSendsAll(file, base_);
  methods_.emplace(
      scenario_, OneProcess(),
      DrawnSources(scenario_, ShapeOf(file), [this](int64_t step, std::vector<BucketWork> units) {
        return InBucketsOf(steps_.At(step), std::move(units));
      }));
  for (const Method& method : methods_->All()) {
    if (!method.Local() && !method.outer->has_value()) continue;
    throw Error(kPolicies, method.name, "methods that send the gradients of every step");
  }
}

int64_t TraceMethods::Steps(size_t timed_networks) const {
  if (!methods_) return 0;
  int64_t trainings = 0;
  for (const Method& method : methods_->All()) {
    trainings += methods_->TrainingsOn(method, timed_networks);
  }
  return trainings * scenario_.seeds * scenario_.steps;
}

void TraceMethods::Estimate(const ScenarioTiming& timing, std::FILE* log, CostEstimate& estimate) {
  if (!methods_) return;
  const StepClocks clocks = timing.MakeClocks(base_, true);
  for (const Method& method : methods_->All()) {
    const auto source = methods_->MakeSource(method, scenario_.seed, log);
    const StepStart start = timing.StartOf(*clocks.front(), scenario_.seed, 0);
    source->SetLink(timing.LinkAt(0));
    const StepOutcome first = source->Step();
    reports_[method.name] = source->Report();
    if (log != nullptr) {
      std::fprintf(log, "  %-22s %s\n", "",
                   methods_->sources().Text(reports_[method.name]).c_str());
    }
    estimate.Add(timing.Price(*clocks.front(), first.work, start).traffic,
                 timing.Memoises() ? methods_->DifferentSteps(method, *source)
                                   : scenario_.steps * scenario_.seeds);
  }
}

std::vector<TraceMethods::Piece> TraceMethods::Trainings(size_t timed_networks) const {
  std::vector<Piece> trainings;
  if (!methods_) return trainings;
  for (const Method& method : methods_->All()) {
    const size_t together = methods_->DependsOnNetwork(method) ? 1 : timed_networks;
    for (int s = 0; s < scenario_.seeds; ++s) {
      for (size_t first = 0; first < timed_networks; first += together) {
        trainings.push_back({&method, scenario_.seed + static_cast<uint64_t>(s), first, together});
      }
    }
  }
  return trainings;
}

std::unique_ptr<Rounds> TraceMethods::Begin(size_t training,
                                            std::span<const TimedNetwork> timed_networks,
                                            Progress* progress) {
  const Piece piece = Trainings(timed_networks.size()).at(training);
  return std::make_unique<CompressedRounds>(
      steps_, scenario_, piece.method->name, piece.seed,
      methods_->MakeSource(*piece.method, piece.seed),
      timed_networks.subspan(piece.first, piece.count), progress,
      [&](const ScenarioTiming& timing) { return timing.MakeClocks(base_, true); });
}

void TraceMethods::Describe(nlohmann::json& manifest) const {
  if (!methods_) return;
  for (const std::string& name : scenario_.policies) manifest["policies"].push_back(name);
  manifest["replayed"]["compressed"] = base_.method;
  manifest["remarks"] = methods_->Remarks();
  for (const auto& [method, report] : reports_) {
    manifest["replayed"]["lengths"][method] = report.compression;
  }
}

std::string TraceMethods::Note() const {
  if (!methods_) return "";
  return Join(scenario_.policies, ", ") + ": device times of " + base_.method +
         ", bytes of layers of these shapes, codecs priced by " + scenario_.device_profile +
         "; nothing was trained.";
}

}  // namespace legacy
