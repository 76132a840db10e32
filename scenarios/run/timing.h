// Timing turns the work of each step (StepWork) into the rows of a run. This code alone times both
// trainings that run and trainings that were recorded, so the two cannot differ.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/run_directory.h"
#include "ns3-module/fabric/step/step.h"
#include "ns3-module/fabric/step/straggler.h"
#include "ns3-module/fabric/step/synchronisation.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/network/fidelity.h"
#include "scenarios/options/network_schedule.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/diagnostics.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/scenario_network.h"
#include "scenarios/run/tensorboard.h"
#include "trainer/clock/clock.h"
#include "trainer/clock/ddp_trace.h"
#include "trainer/clock/profile.h"
#include "trainer/clock/step_work.h"
#include "trainer/training.h"

namespace legacy {

// A StepStart has the facts about a step that are known before it is trained.
struct StepStart {
  std::vector<double> factors;  // factors of the stragglers, by worker
  fabric::Participation participation;
};

// Returns the message bytes of one worker in a step, the mean over the workers.
double MeanMessageBytes(const StepWork& work);

// StepFacts are a training's facts about a step besides its work.
struct StepFacts {
  double learning_rate = 0;
  double loss = 0;
  double elements_sent = 0;  // values sent, the mean over the workers
};

// StepClocks are the device clocks by entry of the network schedule.
using StepClocks = std::vector<std::unique_ptr<const StepClock>>;

// A ScenarioTiming has what times all trainings of a scenario: network, stragglers, devices, and
// memoised steps. Randomness is keyed by (seed, step), so the order of trainings only decides which
// of equal steps is simulated and which are memoised.
class ScenarioTiming {
 public:
  // `scenario` outlives this. Throws Error on networks, stragglers and profiles that are not valid.
  explicit ScenarioTiming(const Scenario& scenario);

  // Makes one clock for each entry of the network schedule.
  std::vector<Clock> MakeClocks(std::span<const OperationCost> costs,
                                std::span<const int64_t> layer_numels) const;
  // Makes the clocks of a measured training, which outlives them.
  StepClocks MakeClocks(const TraceTraining& training) const;
  // Returns the facts that are known before a step is trained.
  StepStart StartOf(const StepClock& clock, uint64_t seed, int64_t step) const;
  // Returns the step's traffic and device times.
  PricedStep Price(const StepClock& clock, const StepWork& work, const StepStart& start) const;
  // Returns true where equal works at different steps are equal on the network, and so are
  // simulated once.
  bool Memoises() const { return scenario_.memoise && !stragglers_->Transient(); }
  bool Packets() const { return *scenario_.fidelity == Fidelity::kPacket; }
  // Returns the setup for people: "16 workers on fat-tree-k4 (packed), 1Gbps, packet fidelity".
  std::string Description() const;
  // Returns the warning of ClockWarning for the first entry that has one; empty: none.
  std::string Warning() const;
  // Returns the position of the step's entry in the network schedule, which is also that of its
  // clock.
  size_t EntryOf(int64_t step) const {
    return legacy::EntryOf(*scenario_.network_schedule, step, scenario_.steps);
  }
  // A Simulated is a step's timing, and whether it was simulated now.
  struct Simulated {
    const fabric::StepTiming& timing;
    bool fresh = false;
  };
  // Simulates a step's traffic, or returns the memoised timing.
  Simulated Simulate(const fabric::StepTraffic& traffic, int64_t step);
  // Returns the workers' estimate of network and devices in that step. The estimate must not
  // outlive this.
  LinkEstimate LinkAt(int64_t step) const;
  // Returns the seconds of the step's collectives by the alpha-beta rules, one after the other.
  double AlphaBetaSeconds(const fabric::StepTraffic& traffic, int64_t step) const;
  // Counts are the numbers of simulations so far.
  struct Counts {
    fabric::EngineCounters engine;
    int64_t fresh = 0;
    int64_t memoised = 0;
  };
  Counts Simulations() const;
  // Samples steps that are simulated from now on at packet fidelity, into `directory`; where the
  // network changes, only those of its first entry.
  void SamplePackets(int64_t samples, int64_t different, const std::filesystem::path& directory);
  // Offers a simulated step to the sampler.
  void OfferSample(const std::string& policy, uint64_t seed, int64_t step,
                   const fabric::StepTraffic& traffic, fabric::TimeNs time);
  // Returns the samples' result as text; empty where no sample was requested.
  std::string SampleText() const { return sampler_ ? sampler_->Text() : ""; }
  // Throws Error where packet fidelity was requested but no packet was simulated, because a result
  // must not claim it then.
  void RequirePackets() const;

  const Scenario& scenario() const { return scenario_; }
  // Returns the network of the first entry; the others differ in rates and delays only.
  const Network& network() const { return *networks_.front().network; }
  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  const Scenario& scenario_;
  std::vector<ScenarioNetwork> networks_;  // one for each entry of the network schedule, or one
  struct AlphaBeta {
    double latency = 0;  // seconds
    double bytes_per_second = 0;
  };
  std::vector<TransferOptions> transfers_;  // one for each entry of the network schedule, or one
  // Latency and rate of each entry's network by the textbook's rules.
  std::vector<AlphaBeta> alpha_beta_;
  std::unique_ptr<fabric::StragglerModel> stragglers_;
  Profile profile_;
  Diagnostics diagnostics_;
  std::vector<fabric::StepSimulator> simulators_;
  std::optional<PacketSampler> sampler_;
  std::optional<analysis::FidelityWriter> samples_;
};

// A ChosenFidelity is a scenario whose fidelity is no longer `auto`.
struct ChosenFidelity {
  Scenario scenario;
  int64_t samples = 0;
  int64_t different = 0;  // number of different steps
  std::string reason;     // reason for people; empty: the fidelity was not auto
};
// Chooses the fidelity. `estimate(scenario)` returns the cost of its packets.
ChosenFidelity ResolveFidelity(const Scenario& scenario,
                               const std::function<PacketCost(const Scenario&)>& estimate);

// A RunSink receives the rows of timed trainings: a run directory, or memory.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual void Write(const analysis::StepRow& row) = 0;
  virtual void Write(const analysis::EvaluationRow& row) = 0;
  virtual void Write(const analysis::LayerRow& row) = 0;
  virtual void Write(const analysis::DecisionRow& row) = 0;
  virtual void Write(const analysis::LinkRow& row) = 0;
  virtual void Write(const analysis::NetworkRow& row) = 0;
  // Returns the listener of every step; null: none.
  virtual StepListener* Listener() { return nullptr; }
};

// A DirectorySink writes a run directory, with one writer for each file, and one for TensorBoard
// where the scenario asks for it.
class DirectorySink : public RunSink {
 public:
  // `parameters` is the number of elements of the model's gradient.
  DirectorySink(const ScenarioTiming& timing, const std::filesystem::path& directory,
                int64_t parameters);
  void Write(const analysis::StepRow& row) override {
    steps_.Write(row);
    if (tensorboard_) tensorboard_->Write(row);
  }
  void Write(const analysis::EvaluationRow& row) override {
    evaluations_.Write(row);
    if (tensorboard_) tensorboard_->Write(row);
  }
  void Write(const analysis::LayerRow& row) override { layers_.Write(row); }
  void Write(const analysis::DecisionRow& row) override { decisions_.Write(row); }
  void Write(const analysis::LinkRow& row) override { links_.Write(row); }
  void Write(const analysis::NetworkRow& row) override { network_.Write(row); }
  StepListener* Listener() override { return &listener_; }

 private:
  analysis::StepWriter steps_;
  analysis::EvaluationWriter evaluations_;
  analysis::LayerWriter layers_;
  analysis::DecisionWriter decisions_;
  analysis::LinkWriter links_;
  analysis::NetworkWriter network_;
  std::optional<TensorBoard> tensorboard_;  // where the scenario asks for it
  StepListener listener_;
};

// A MemorySink collects the rows that ReadRunDirectory would read.
class MemorySink : public RunSink {
 public:
  explicit MemorySink(analysis::RunDirectory& run) : run_(run) {}
  void Write(const analysis::StepRow& row) override { run_.steps.push_back(row); }
  void Write(const analysis::EvaluationRow& row) override { run_.evaluations.push_back(row); }
  void Write(const analysis::LayerRow& row) override { run_.layers.push_back(row); }
  void Write(const analysis::DecisionRow& row) override { run_.decisions.push_back(row); }
  void Write(const analysis::LinkRow& row) override { run_.links.push_back(row); }
  void Write(const analysis::NetworkRow& row) override { run_.network.push_back(row); }

 private:
  analysis::RunDirectory& run_;
};

// A TimedTraining times one training: each step and evaluation when it happens, and sums at the
// end.
class TimedTraining {
 public:
  // What references and pointers refer to outlives this. `progress` may be null. `layer_numels` are
  // the model's, in parameter order.
  TimedTraining(ScenarioTiming& timing, RunSink& sink, Progress* progress,
                const std::string& policy, uint64_t seed, StepClocks clocks,
                std::span<const int64_t> layer_numels);

  // Returns the start of the next step.
  StepStart Start() const { return timing_.StartOf(*clocks_.front(), row_.seed, done_); }
  // Simulates the next step and writes its row of steps.csv.
  const analysis::StepRow& Step(const StepWork& work, const StepStart& start,
                                const StepFacts& facts);
  // Returns the times of the last step, as its workers see them.
  const StepTimes& Times() const { return times_; }
  // Writes an evaluation after the last step: a row of evaluations.csv.
  void Evaluated(double loss, double accuracy);
  // Writes links.csv and network.csv once the training is complete.
  void Finish();

 private:
  void AddLinks(const std::vector<fabric::LinkCounters>& step);
  void FillTimes(const StepWork& work, const PricedStep& priced, const fabric::StepTiming& timing);
  void WriteLinks() const;

  ScenarioTiming& timing_;
  RunSink& sink_;
  Progress* progress_;
  StepClocks clocks_;
  analysis::StepRow row_;  // row of the last step
  StepTimes times_;
  analysis::EvaluationRow evaluation_;
  ProgressState state_;
  std::vector<fabric::LinkCounters> links_;  // sums by directed link
  int64_t done_ = 0;                         // steps done
  fabric::TimeNs now_ = 0;
  ScenarioTiming::Counts before_;  // counts when the training began
};

}  // namespace legacy
