// Timing of trainings: from what each step asks for (StepWork) to the rows of the run directory. Trainings that run and
// trainings that were recorded are timed by this code alone, so the two cannot differ.
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
#include "ns3-module/fabric/step.h"
#include "ns3-module/fabric/straggler.h"
#include "ns3-module/fabric/synchronisation.h"
#include "scenarios/network.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/network/fidelity.h"
#include "scenarios/observation.h"
#include "scenarios/progress.h"
#include "scenarios/scenario.h"
#include "trainer/clock.h"
#include "trainer/profile.h"
#include "trainer/step_work.h"

namespace legacy {

// What is known of a step before it is trained.
struct StepStart {
  std::vector<double> factors;  // of the stragglers
  fabric::Participation participation;
};

// Message bytes of one worker in a step, mean over the workers.
double MeanMessageBytes(const StepWork& work);

// What a training says of a step beside its work.
struct StepFacts {
  double learning_rate = 0;
  double loss = 0;
  double elements_sent = 0;  // mean over the workers
};

// What all trainings of a scenario are timed with: network, stragglers, devices, and the steps
// remembered. Randomness is keyed by (seed, step), so the order of trainings changes nothing but
// which of equal steps is the fresh one.
class ScenarioTiming {
 public:
  // `scenario` outlives this. Throws Error on networks, stragglers and profiles that cannot be.
  explicit ScenarioTiming(const Scenario& scenario);

  Clock MakeClock(std::span<const OperationCost> costs,
                  std::span<const int64_t> layer_numels) const;
  StepStart StartOf(const Clock& clock, uint64_t seed, int64_t step) const;
  PricedStep Price(const Clock& clock, const StepWork& work, const StepStart& start) const;
  // Equal works at different steps are equal on the network, and simulated once.
  bool Remembers() const { return scenario_.memoise && !stragglers_->Transient(); }
  bool Packets() const { return scenario_.fidelity == "packet"; }
  // "16 workers on fat-tree-k4 (packed), 1Gbps, packet fidelity"
  std::string Description() const;
  // Steps simulated afresh from here on are sampled at packet fidelity into `directory`.
  void SamplePackets(int64_t samples, int64_t different, const std::filesystem::path& directory);
  void OfferSample(const std::string& policy, uint64_t seed, int64_t step,
                   const fabric::StepTraffic& traffic, fabric::TimeNs time);
  // What the samples say, for people; "" where none was asked for.
  std::string SampleText() const { return sampler_ ? sampler_->Text() : ""; }
  // Throws Error where packets were asked for and none was simulated: a result must not claim more
  // than it is.
  void RequirePackets() const;

  const Scenario& scenario() const { return scenario_; }
  const Network& network() const { return *network_.network; }
  const Observation& observation() const { return observation_; }
  fabric::StepSimulator& simulator() { return simulator_; }

 private:
  const Scenario& scenario_;
  ScenarioNetwork network_;
  std::unique_ptr<fabric::StragglerModel> stragglers_;
  fabric::Synchronisation sync_;
  Profile profile_;
  Observation observation_;
  fabric::StepSimulator simulator_;
  std::optional<PacketSampler> sampler_;
  std::optional<analysis::FidelityWriter> samples_;
};

// The scenario with a fidelity in the place of `auto`. `estimate(scenario)`: what its packets cost.
struct ChosenFidelity {
  Scenario scenario;
  int64_t samples = 0;
  int64_t different = 0;  // steps
  std::string reason;     // for people; "": was not auto
};
ChosenFidelity ResolveFidelity(const Scenario& scenario,
                               const std::function<PacketCost(const Scenario&)>& estimate);

// What the run directory takes, one writer a file.
struct RunWriters {
  RunWriters(const ScenarioTiming& timing, const std::filesystem::path& directory)
      : steps(directory),
        evaluations(directory),
        layers(directory),
        links(directory),
        network(directory),
        observer(timing.observation(), timing.scenario(), timing.network(), directory) {}
  analysis::StepWriter steps;
  analysis::EvaluationWriter evaluations;
  analysis::LayerWriter layers;
  analysis::LinkWriter links;
  analysis::NetworkWriter network;
  StepObserver observer;
};

// One training on its clock: each step and evaluation as it happens, sums at the end.
class TimedTraining {
 public:
  // Those given as references outlive this. `layer_numels` are the model's, in parameter order.
  TimedTraining(ScenarioTiming& timing, RunWriters& writers, Progress& progress,
                const std::string& policy, uint64_t seed, std::span<const OperationCost> costs,
                std::span<const int64_t> layer_numels);

  // Of the next step.
  StepStart Start() const { return timing_.StartOf(clock_, row_.seed, done_); }
  // The next step, simulated and written to steps.csv.
  const analysis::StepRow& Step(const StepWork& work, const StepStart& start,
                                const StepFacts& facts);
  // An evaluation after the last step: a row of evaluations.csv.
  void Evaluated(double loss, double accuracy);
  // links.csv and network.csv: the training is complete.
  void Finish();

 private:
  void AddLinks(const std::vector<fabric::LinkCounters>& step);
  void FillTimes(const StepWork& work, const PricedStep& priced, const fabric::StepTiming& timing);
  void WriteLinks() const;

  ScenarioTiming& timing_;
  RunWriters& writers_;
  Progress& progress_;
  Clock clock_;
  analysis::StepRow row_;  // the last step's
  analysis::EvaluationRow evaluation_;
  ProgressState state_;
  std::vector<fabric::LinkCounters> links_;  // sums, by directed link
  int64_t done_ = 0;                         // steps
  fabric::TimeNs now_ = 0;
  fabric::EngineCounters before_;  // the simulator's totals when the training began
  int64_t fresh_before_ = 0;
  int64_t memoised_before_ = 0;
};

}  // namespace legacy
