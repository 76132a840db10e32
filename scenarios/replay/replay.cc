#include "scenarios/replay/replay.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/programs/patience.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/run/fidelity_choice.h"
#include "scenarios/run/timed_run.h"
#include "trainer/clock/record.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// Rows are the recorded rows of one training.
struct Rows {
  std::vector<const analysis::StepRow*> steps;
  std::vector<const analysis::EvaluationRow*> evaluations;
  std::vector<const analysis::LayerRow*> layers;
  std::vector<const analysis::DecisionRow*> decisions;
};

// A recorded training, whose steps are timed again.
class RecordedRounds : public Rounds {
 public:
  RecordedRounds(const Record& record, const RecordedTraining& training, const Rows& rows,
                 std::span<const TimedNetwork> timed_networks, Progress* progress)
      : record_(record),
        training_(training),
        rows_(rows),
        layers_(record.layers),
        timed_(timed_networks, progress, training.policy, training.seed, record.operations,
               layers_) {}

  bool Next() override {
    if (timed_.Done() == std::ssize(rows_.steps)) return false;
    const analysis::StepRow& recorded = *rows_.steps[static_cast<size_t>(timed_.Done())];
    const StepWork& work = record_.works[training_.works[recorded.step]];
    timed_.Step(work, timed_.Start(),
                {recorded.learning_rate, recorded.training_loss, recorded.elements_sent});
    if (evaluation_ < rows_.evaluations.size() &&
        rows_.evaluations[evaluation_]->step == recorded.step + 1) {
      const analysis::EvaluationRow& row = *rows_.evaluations[evaluation_++];
      timed_.Evaluated(row.test_loss, row.metrics);
    }
    return true;
  }

  bool Finish() override {
    for (const analysis::DecisionRow* decision : rows_.decisions) timed_.Write(*decision);
    for (const analysis::LayerRow* layer : rows_.layers) timed_.Write(*layer);
    timed_.Finish();
    return true;
  }

 private:
  const Record& record_;
  const RecordedTraining& training_;
  const Rows& rows_;
  const std::span<const Unit> layers_;
  TimedEverywhere timed_;
  size_t evaluation_ = 0;  // number of the next evaluation
};

class Replayer : public TimedRun {
 public:
  Replayer(const Recording& recording, const Scenario& scenario,
           const std::function<bool()>& stopped)
      : recording_(recording),
        scenario_(scenario),
        stopped_(stopped),
        timing_(scenario, [this] { OnFlow(); }) {
    for (const auto& row : recording.run.steps) rows_[{row.policy, row.seed}].steps.push_back(&row);
    for (const auto& row : recording.run.evaluations) {
      rows_[{row.policy, row.seed}].evaluations.push_back(&row);
    }
    for (const auto& row : recording.run.layers) {
      rows_[{row.policy, row.seed}].layers.push_back(&row);
    }
    for (const auto& row : recording.run.decisions) {
      rows_[{row.policy, row.seed}].decisions.push_back(&row);
    }
  }

  ScenarioTiming& Timing() override { return timing_; }
  CostEstimate Estimate(std::FILE* log) override;
  std::string Title() const override { return ModelText(scenario_) + ", recorded, on "; }
  std::string Devices() const override {
    return BatchText(scenario_) + " on " + scenario_.device_profile;
  }
  nlohmann::json Manifest(const std::string& program,
                          const std::string& command_line) const override {
    nlohmann::json manifest =
        ManifestDocument(scenario_, program, command_line, recording_.run.manifest.metrics,
                         recording_.run.manifest.parameters, {});
    const nlohmann::json& recorded = recording_.run.manifest.document;
    for (const char* key : {"decisions", "requested_bytes", "volume_reasons", "remarks"}) {
      if (recorded.contains(key)) manifest[key] = recorded[key];
    }
    manifest["replayed"] = {{"directory", recording_.run.path.string()},
                            {"hash", recording_.record.Hash()}};
    return manifest;
  }
  int64_t Steps(size_t) const override {
    return std::ssize(recording_.record.trainings) * scenario_.steps;
  }
  size_t Count() const override { return recording_.record.trainings.size(); }
  std::unique_ptr<Rounds> Begin(size_t training) override {
    const RecordedTraining& recorded = recording_.record.trainings[training];
    return std::make_unique<RecordedRounds>(recording_.record, recorded,
                                            rows_.at({recorded.policy, recorded.seed}),
                                            timed_networks(), progress());
  }

 private:
  bool Stopped() const override { return stopped_(); }
  // A step with many flows may take minutes, so it can also be stopped when a flow ends.
  void OnFlow() {
    constexpr int64_t kBetween = 64;
    if (++flows_ % kBetween == 0 && stopped_()) throw GivenUp();
  }

  const Recording& recording_;
  const Scenario& scenario_;
  const std::function<bool()>& stopped_;
  int64_t flows_ = 0;
  ScenarioTiming timing_;
  std::map<std::pair<std::string, uint64_t>, Rows> rows_;
};

// Estimates all steps or, where equal steps are memoised, each distinct step once.
CostEstimate Replayer::Estimate(std::FILE*) {
  const Record& record = recording_.record;
  std::map<size_t, int64_t> count;
  for (const RecordedTraining& training : record.trainings) {
    for (const size_t work : training.works) ++count[work];
  }
  const std::vector<Clock> clocks = timing_.MakeClocks(record.operations, record.layers);
  const Clock& clock = clocks.front();
  const StepStart start = timing_.StartOf(clock, scenario_.seed, 0);
  CostEstimate estimate(timing_.network());
  for (const auto& [work, steps] : count) {
    const PricedStep priced = timing_.Price(clock, record.works[work], start);
    estimate.Add(priced.traffic, timing_.Memoises() ? 1 : steps);
  }
  return estimate;
}

ChosenFidelity Resolve(const Recording& recording, const Scenario& scenario,
                       const std::function<bool()>& stopped) {
  return ResolveFidelity(scenario, [&](const Scenario& probe) {
    return Replayer(recording, probe, stopped).Estimate(nullptr).Cost();
  });
}

}  // namespace

void CheckFolders(const fs::path& recorded, const fs::path& out) {
  std::error_code missing;
  if (fs::equivalent(out, recorded, missing)) {
    throw Error("--out", out.string(), "another folder than that of the recording");
  }
}

void CheckUnchanged(const Scenario& scenario, const Scenario& known,
                    const std::function<bool(const ScenarioOption&)>& may_change,
                    const std::function<std::string(const std::string& value)>& allowed) {
  for (const ScenarioOption& option : OptionsOf(scenario)) {
    if (may_change(option) || option.get(scenario) == option.get(known)) continue;
    throw Error(option.key + " (" + option.flag + ")", option.get(scenario),
                allowed(option.get(known)));
  }
  if (scenario.sync->MayDrop()) {
    throw Error("network.sync", scenario.sync.text(),
                "barrier: whose gradients count belongs to the training");
  }
}

void CheckReplay(const Recording& recording, const Scenario& scenario) {
  TargetAmong(scenario, recording.run.manifest.metrics);
  const std::string why =
      ", as recorded: it belongs to the training; a replay changes network and devices alone";
  CheckUnchanged(
      scenario, ReplayDefaults(recording),
      [](const ScenarioOption& option) { return option.Has(kMayReplay); },
      [&](const std::string& recorded) { return recorded + why; });
  // Servers and owners that are not those of the training are refused when a call needs them.
  Scenario trained = scenario;
  trained.sharding = recording.scenario.sharding;
  trained.rules = recording.scenario.rules;
  trained.aggregation = recording.scenario.aggregation;
  trained.servers = recording.scenario.servers;
  if (TrainingHash(TrainingDocument(trained)) != recording.record.Hash()) {
    throw Error::Refusal("methods: not those of the recorded run" + why);
  }
}

analysis::RunDirectory ReplayRows(const Recording& recording, const Scenario& scenario,
                                  const StopFlag& stop) {
  return ReplayRows(recording, scenario, [&stop] { return stop != 0; });
}

analysis::RunDirectory ReplayRows(const Recording& recording, const Scenario& scenario,
                                  const std::function<bool()>& stopped) {
  CheckReplay(recording, scenario);
  const ChosenFidelity chosen = Resolve(recording, scenario, stopped);
  Replayer replayer(recording, chosen.scenario, stopped);
  analysis::RunDirectory run;
  run.manifest = recording.run.manifest;
  run.manifest.target = TargetAmong(scenario, run.manifest.metrics);
  run.manifest.fidelity = chosen.scenario.fidelity.text();
  MemorySink sink(run);
  const TimedNetwork timed_network = {&replayer.Timing(), &sink};
  if (replayer.Run({&timed_network, 1}, nullptr, {})) replayer.Timing().RequirePackets();
  return run;
}

RunResult Replay(const Recording& recording, const Scenario& scenario, const std::string& program,
                 const std::string& command_line, const StopFlag& stop, std::FILE* log) {
  CheckReplay(recording, scenario);
  CheckFolders(recording.run.path, scenario.out);
  const std::function<bool()> stopped = [&stop] { return stop != 0; };
  return FillRunDirectory(
      scenario, program, command_line,
      [&](const Scenario& chosen) {
        return std::make_unique<Replayer>(recording, chosen, stopped);
      },
      log);
}

}  // namespace legacy
