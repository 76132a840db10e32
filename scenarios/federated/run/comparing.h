// The trainings of a comparison, run into a run directory: what runs and replays have in common.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/programs/program.h"
#include "scenarios/federated/learner.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/progress.h"

namespace legacy {

// A FederatedRunResult is the result of a run, and why a training ended before all of its versions
// were made.
struct FederatedRunResult {
  RunResult run;
  std::string stopped;  // "": none did
};

// A FederatedControl says how a run is started and reached.
struct FederatedControl {
  const StopFlag& stop;  // other than 0: the run ends with the version in work
  bool resume = false;   // true: goes on with the run in scenario.out
  // Counts requests for a checkpoint; null: none come.
  const StopFlag* requests = nullptr;
  ShareTold told = {};
};

// A FederatedComparison is what a run and its replay have in common.
struct FederatedComparison {
  const Scenario& scenario;
  std::string program;
  std::string command_line;
  std::vector<FederatedMethod> methods;
  FederatedLearners& learners;
  std::vector<std::string> couplings;
  bool trains = true;
  const FederatedControl& control;
  std::FILE* log;
};

// Runs the trainings. Throws Error on mistakes of a method before anything is written.
FederatedRunResult RunComparison(const FederatedComparison& run);

}  // namespace legacy
