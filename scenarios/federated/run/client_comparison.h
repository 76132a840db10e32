// The trainings of a comparison, run into a run directory: what runs and replays have in common.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/programs/program.h"
#include "scenarios/federated/learner.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/open_run.h"

namespace legacy {

// A FederatedComparison is what a run and its replay have in common.
struct FederatedComparison {
  const Scenario& scenario;
  std::string program;
  std::string command_line;
  std::vector<FederatedMethod> methods;
  FederatedLearners& learners;
  std::vector<std::string> couplings;
  bool trains = true;
  const StopFlag& stop;  // other than 0: the run ends with the version in work
  RunControl control = {};
  std::FILE* log;
};

// Runs the trainings. Throws Error on mistakes of a method before anything is written.
RunResult RunComparison(const FederatedComparison& run);

}  // namespace legacy
