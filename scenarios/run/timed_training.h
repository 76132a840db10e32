// Timing turns the work of each step (StepWork) into the rows of a run. This code alone times both
// trainings that run and trainings that were recorded, so the two cannot differ.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/run_directory.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/run_sink.h"
#include "scenarios/run/scenario_timing.h"
#include "trainer/aggregation.h"
#include "trainer/clock/step_work.h"
#include "trainer/training_options.h"

namespace legacy {

// Returns the message bytes of one worker in a step, the mean over the workers.
double MeanMessageBytes(const StepWork& work);

// StepFacts are a training's facts about a step besides its work.
struct StepFacts {
  double learning_rate = 0;
  double loss = 0;
  double elements_sent = 0;  // values sent, the mean over the workers
};

// A TimedTraining times one training: each step and evaluation when it happens, and sums at the
// end.
class TimedTraining {
 public:
  // What references and pointers refer to outlives this. `progress` may be null. `layers` are
  // the model's, in parameter order.
  TimedTraining(ScenarioTiming& timing, RunSink& sink, Progress* progress,
                const std::string& policy, uint64_t seed, StepClocks clocks,
                std::span<const Unit> layers);

  // Returns the start of the next step.
  StepStart Start() const { return timing_.StartOf(*clocks_.front(), row_.seed, done_); }
  // Simulates the next step and writes its row of steps.csv.
  const analysis::StepRow& Step(const StepWork& work, const StepStart& start,
                                const StepFacts& facts);
  // Returns the times of the last step, as its workers see them.
  const StepTimes& Times() const { return times_; }
  // Writes an evaluation after the last step: a row of evaluations.csv. `metrics` has the values of
  // the run's metrics.
  void Evaluated(double loss, const std::vector<double>& metrics);
  // Writes links.csv and network.csv once the training is complete.
  void Finish();
  // Returns the number of steps done.
  int64_t Done() const { return done_; }
  // Save and load the sums of the steps so far, without what the sink's listener keeps.
  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
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
  fabric::EngineCounters counters_;          // sums over the steps, memoised ones included
  int64_t done_ = 0;                         // steps done
  TimeNs now_ = 0;
  ScenarioTiming::Counts before_;  // counts when the training began
};

}  // namespace legacy
