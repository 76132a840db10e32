// `legacy-scenario advise` and `legacy-federated advise` answer "should I compress, and with what?"
// by a small study of short trainings. They are replayed on the user's network and on links from a
// tenth to ten times its rate, which shows the break-even. Links of federated clients are their
// access lines, which all change speed together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/study/advice.h"
#include "base/programs/program.h"
#include "scenarios/options/scenario.h"
#include "scenarios/study/advise_rows.h"

namespace legacy {

// Steps of a short training, or rounds of a federated one.
inline constexpr int64_t kQuickSteps = 100;
inline constexpr int64_t kQuickRounds = 40;
// The policy that all others are compared with.
inline constexpr const char* kAdviceBaseline = "dense";

// An AdviseRequest is the user's request.
struct AdviseRequest {
  // The full training on the user's network. Where its target is auto, one that the short training
  // reaches is chosen.
  Scenario scenario;
  // Steps of the short training; 0: kQuickSteps, or all where there are fewer. A step of federated
  // clients is a round, or a version.
  int64_t quick_steps = 0;
  int jobs = 0;  // processes at once; 0: one per core
  // New folder of the study; "": a temporary one.
  std::filesystem::path folder;
  bool resume = false;                 // true: continues with the study in `folder`
  std::vector<std::string> arguments;  // arguments as typed after "advise"
  std::vector<AdvisedRow> rows;        // what the policies of a federated scenario are
};

// Return the scenarios from which options start: three seeds, flows, no target, and, of workers,
// every built-in policy except controls.
Scenario AdviseDefaults();
Scenario FederatedAdviseDefaults();

// Fills in what the user left open, and makes the rows of federated clients its policies. Throws
// Error where no advice is possible: no policy besides dense, trainings of workers that may not be
// replayed, views of one run (the doctor, traces).
AdviseRequest CompleteRequest(AdviseRequest request);

// Returns the short training. All that is counted in steps is shortened in proportion.
Scenario ShortScenario(const AdviseRequest& request);

// Returns the YAML of the study of `scenario` around its bandwidth, or around the rates of its
// clients' lines. The axis has one value where the topology and the network schedule set all rates,
// and where clients learn something else on other lines.
std::string AdviceDefinition(const Scenario& scenario);

// Returns the YAML of the full training's study, which --print-config prints for legacy-study.
std::string FullDefinition(const AdviseRequest& request);

// Returns a target, as text, that is nine tenths as good as the baseline at its end (the mean of
// the last three evaluations of the main metric, with its worst seed), from the trainings in a
// study's folder: 90 % of its accuracy, or its perplexity / 0.9.
std::string ChooseTarget(const std::vector<std::filesystem::path>& trainings);

// Returns true where the target of a scenario is to be chosen so.
bool ChoosesTarget(const Scenario& scenario);

// Returns what the study of a request does not know itself. `quick` is its ShortScenario.
analysis::AdviceQuestion QuestionOf(const AdviseRequest& request, const Scenario& quick,
                                    const analysis::Study& study);

// Returns the rate of the median client's uplink in bit/s; a schedule's is its mean.
double MedianUplink(const Scenario& scenario);

// An AdviseResult is the study and its advice.
struct AdviseResult {
  bool interrupted = false;
  analysis::Study study;
  analysis::Advice advice;
};

// Trains, replays and decides, with progress on standard error. `request` comes from
// CompleteRequest. Throws Error where a training fails, or a point on the user's network, and where
// the study to continue with is another one.
AdviseResult Advise(const AdviseRequest& request, const StopFlag& stop);

// Runs the subcommand of legacy-federated, or of legacy-scenario, with the arguments after
// "advise". Returns the program's exit status.
int AdviseCommand(bool federated, int argc, char** argv, const StopFlag& stop);

}  // namespace legacy
