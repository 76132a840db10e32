// A timed run fills a run directory from beginning to end, for trainings that are trained now,
// replayed, or read from a trace.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files/section_file.h"
#include "base/programs/program.h"
#include "scenarios/checkpoint/checkpoints.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/open_run.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/timed_training.h"
#include "scenarios/run/trainings.h"
#include "trainer/worker_pool.h"

namespace legacy {

// A TimedNetwork is a network on which trainings are timed, and the sink of its rows.
struct TimedNetwork {
  ScenarioTiming* timing = nullptr;
  RunSink* sink = nullptr;
};

// A TimedEverywhere times one training on several networks at once. The training runs on the first
// of them, which decides which workers are active, shows progress and gives the times that policies
// see.
class TimedEverywhere {
 public:
  // `clocks(timing)` returns the device clocks for that network. What spans and pointers refer to
  // outlives this.
  TimedEverywhere(std::span<const TimedNetwork> timed_networks, Progress* progress,
                  const std::string& policy, uint64_t seed,
                  const std::function<StepClocks(const ScenarioTiming&)>& clocks,
                  std::span<const Unit> layers);
  // Uses the device clocks of the scenarios' profiles.
  TimedEverywhere(std::span<const TimedNetwork> timed_networks, Progress* progress,
                  const std::string& policy, uint64_t seed, std::span<const OperationCost> costs,
                  std::span<const Unit> layers);

  StepStart Start() const { return timed_.front().Start(); }
  // Do what the functions of TimedTraining do, on every network.
  void Step(const StepWork& work, const StepStart& start, const StepFacts& facts);
  const StepTimes& Times() const { return timed_.front().Times(); }
  void Evaluated(double loss, const std::vector<double>& metrics);
  void Write(const analysis::LayerRow& row);
  void Write(const analysis::DecisionRow& row);
  void Finish();
  // Returns the number of steps done.
  int64_t Done() const { return timed_.front().Done(); }
  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  std::span<const TimedNetwork> timed_networks_;
  std::vector<TimedTraining> timed_;
  // The threads that wait for packets of several networks at once; null: there are none.
  std::unique_ptr<WorkerPool> pool_;
};

// A RunPlace is where a run writes.
struct RunPlace {
  std::filesystem::path directory;
  Checkpoints* checkpoints = nullptr;
  // The checkpoint from which it continues; null: it starts from the beginning.
  const SectionFile* from = nullptr;
};

// A TimedRun is all trainings of a scenario whose fidelity is chosen.
class TimedRun : public Trainings {
 public:
  // Returns the timing on the run's own network.
  virtual ScenarioTiming& Timing() = 0;
  // Returns the cost of simulating packets. Messages about each training go to `log`, unless that
  // is null.
  virtual CostEstimate Estimate(std::FILE* log) = 0;
  // Returns the wall seconds of the run without its packets, from what Estimate() timed.
  virtual double SecondsToTrain(size_t /*timed_networks*/) const { return 0; }
  // Returns a text that names what is timed.
  virtual std::string Title() const = 0;
  // Returns what each worker computes on which device, for people: "batch 8 a worker on
  // a100-datasheet". Empty: times are as measured.
  virtual std::string Devices() const = 0;
  // Returns the run's manifest.
  virtual nlohmann::json Manifest(const std::string& program,
                                  const std::string& command_line) const = 0;
  // Returns the number of steps of all trainings that this number of networks needs.
  virtual int64_t Steps(size_t timed_networks) const = 0;
  // Returns a text for people under the tables; empty: none.
  virtual std::string Note() const { return ""; }
  // Restores what a checkpoint says about the whole run. It comes before Steps() and Run().
  virtual void Load(const SectionFile&, std::span<const TimedNetwork>) {
    throw Error("--resume: this run writes no checkpoints");
  }
  // Runs all trainings: writes all rows of all networks, the run's own network first; all other
  // files of the run go to the place's directory. Returns false where it was stopped.
  bool Run(std::span<const TimedNetwork> timed_networks, Progress* progress, const RunPlace& place);

 protected:
  // Return what Run was given.
  std::span<const TimedNetwork> timed_networks() const { return timed_networks_; }
  Progress* progress() const { return progress_; }
  const RunPlace& place() const { return place_; }

 private:
  // Are as in Pace.
  virtual bool Stopped() const = 0;
  virtual std::function<unsigned()> Patience() const { return {}; }

  std::span<const TimedNetwork> timed_networks_;
  Progress* progress_ = nullptr;
  RunPlace place_;
};

// Makes the run, with the fidelity that `scenario` asks for or `auto` chooses, and its directory,
// with progress on `log`. Each further network (network.further) leaves a run directory in the
// folder networks/. Throws Error on scenarios that are not valid, and leaves no files then.
RunResult FillRunDirectory(const Scenario& scenario, const std::string& program,
                           const std::string& command_line,
                           const std::function<std::unique_ptr<TimedRun>(const Scenario&)>& make,
                           std::FILE* log, const RunControl& control = {});

}  // namespace legacy
