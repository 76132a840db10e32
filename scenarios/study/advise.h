// `legacy-scenario advise` answers "should I compress, and with what?" by a small study of short
// trainings. They are replayed on the user's network and on links from a tenth to ten times its
// rate, which shows the break-even.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/study/advice.h"
#include "base/program.h"
#include "scenarios/options/scenario.h"

namespace legacy {

inline constexpr int64_t kQuickSteps = 100;

// An AdviseRequest is the user's request.
struct AdviseRequest {
  // The full training on the user's network. Where its target is auto, one that the short training
  // reaches is chosen.
  Scenario scenario;
  // Steps of the short training; 0: kQuickSteps, or all where there are fewer.
  int64_t quick_steps = 0;
  int jobs = 0;  // processes at once; 0: one per core
  // New folder of the study; "": a temporary one.
  std::filesystem::path folder;
  std::vector<std::string> arguments;  // arguments as typed after "advise"
};

// Returns the scenario from which options start: three seeds, flows, and every built-in policy
// except controls.
Scenario AdviseDefaults();

// Fills in what the user left open. Throws Error where no advice is possible: no policy besides
// dense, trainings that may not be replayed, views of one run (the doctor, traces).
AdviseRequest CompleteRequest(AdviseRequest request);

// Returns the short training. All that is counted in steps is shortened in proportion.
Scenario ShortScenario(const AdviseRequest& request);

// Returns the YAML of the study of `scenario` around its bandwidth. Where the topology and the
// network schedule set all rates, the axis has one value.
std::string AdviceDefinition(const Scenario& scenario);

// Returns the YAML of the full training's study, which --print-config prints for legacy-study.
std::string FullDefinition(const AdviseRequest& request);

// Returns a target, as text, that is nine tenths as good as the baseline at its end (the mean of
// the last three evaluations of the main metric, with its worst seed), from the trainings in a
// study's folder: 90 % of its accuracy, or its perplexity / 0.9.
std::string ChooseTarget(const std::vector<std::filesystem::path>& trainings);

// An AdviseResult is the study and its advice.
struct AdviseResult {
  bool interrupted = false;
  analysis::Study study;
  analysis::Advice advice;
};

// Trains, replays and decides, with progress on standard error. `request` comes from
// CompleteRequest. Throws Error where a training fails, or a point on the user's network.
AdviseResult Advise(const AdviseRequest& request, const StopFlag& stop);

// Runs the subcommand with the arguments after "advise". Returns the program's exit status.
int AdviseCommand(int argc, char** argv, const StopFlag& stop);

}  // namespace legacy
