// Everything that the steps of a scenario's trainings are timed with: network, stragglers, devices
// and memoised steps.
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
#include "base/state.h"
#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/fidelity.h"
#include "scenarios/options/network_schedule.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/diagnostics.h"
#include "scenarios/run/scenario_network.h"
#include "scenarios/run/step_pricing.h"
#include "trainer/clock/clock.h"
#include "trainer/clock/ddp_trace.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// StepClocks are the device clocks by entry of the network schedule.
using StepClocks = std::vector<std::unique_ptr<const StepClock>>;

// A ScenarioTiming has what times all trainings of a scenario: network, stragglers, devices, and
// memoised steps. Randomness is keyed by (seed, step), so the order of trainings only decides which
// of equal steps is simulated and which are memoised.
class ScenarioTiming {
 public:
  // `scenario` outlives this. `on_flow`, where there is one, is called at each flow that begins or
  // ends, and may throw to end a simulation. Throws Error on networks, stragglers and profiles that
  // are not valid.
  explicit ScenarioTiming(const Scenario& scenario, const std::function<void()>& on_flow = {});

  // Makes one clock for each entry of the network schedule.
  std::vector<Clock> MakeClocks(std::span<const OperationCost> costs,
                                std::span<const Unit> layers) const;
  // Makes the clocks of a measured training, which outlives them. `compressed`: other messages than
  // its own are sent, whose codecs the profile prices.
  StepClocks MakeClocks(const TraceTraining& training, bool compressed = false) const;
  // Returns the facts that are known before a step is trained.
  StepStart StartOf(const StepClock& clock, uint64_t seed, int64_t step) const {
    return pricing_.StartOf(clock, seed, step);
  }
  // Returns the step's traffic and device times.
  PricedStep Price(const StepClock& clock, const StepWork& work, const StepStart& start) const {
    return StepPricing::Price(clock, work, start);
  }
  // Returns true where equal works at different steps are equal on the network, and so are
  // simulated once.
  bool Memoises() const {
    return scenario_.memoise && !pricing_.Transient() &&
           std::ranges::none_of(networks_, [](const ScenarioNetwork& entry) {
             return entry.network->background || entry.network->topology.HasSchedules();
           });
  }
  bool Packets() const { return *scenario_.fidelity == Fidelity::kPacket; }
  // Returns the setup for people: "16 workers on fat-tree-k4 (packed), 1Gbps, packet fidelity".
  std::string Description() const;
  // Returns the other options that shape a step's time: "transport datacenter; no stragglers".
  std::string Conditions() const;
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
  // Simulates a step's traffic from `start` of the training on, or returns the memoised timing.
  Simulated Simulate(const fabric::StepTraffic& traffic, int64_t step, TimeNs start);
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
    template <class Archive>
    friend void Fields(Archive& archive, Counts& c) {
      archive(c.engine, c.fresh, c.memoised);
    }
  };
  Counts Simulations() const;
  // Samples steps that are simulated from now on at packet fidelity, into `directory`; where the
  // network changes, only those of its first entry.
  // `goes_on`: rows are appended to the file that is there.
  void SamplePackets(int64_t samples, int64_t different, const std::filesystem::path& directory,
                     bool goes_on = false);
  // True where fidelity.csv is written.
  bool Samples() const { return samples_.has_value(); }
  // Save and load what was counted, sampled and memoised, of a timing of the same scenario.
  void Save(StateWriter& out) const;
  void Load(StateReader& in);
  // Offers a simulated step to the sampler.
  void OfferSample(const std::string& policy, uint64_t seed, int64_t step,
                   const fabric::StepTraffic& traffic, TimeNs start, TimeNs time);
  // Returns the samples' result as text; empty where no sample was requested.
  std::string SampleText() const { return sampler_ ? sampler_->Text() : ""; }
  // Throws Error where packet fidelity was requested but no packet was simulated, because a result
  // must not claim it then, and where a file of packets was cut.
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
  StepPricing pricing_;
  PacketFiles files_;
  Diagnostics diagnostics_;
  std::vector<fabric::StepSimulator> simulators_;
  std::optional<PacketSampler> sampler_;
  std::optional<analysis::FidelityWriter> samples_;
};

}  // namespace legacy
