#include "scenarios/timed_run.h"

#include <unistd.h>

#include <cstdio>

#include "analysis/run_directory.h"

namespace legacy {

RunResult FillRunDirectory(const Scenario& scenario, const std::string& program,
                           const std::string& command_line,
                           const std::function<std::unique_ptr<TimedRun>(const Scenario&)>& make) {
  const ChosenFidelity chosen = ResolveFidelity(
      scenario, [&](const Scenario& probe) { return make(probe)->Estimate(false).Cost(); });
  if (!chosen.reason.empty()) std::fprintf(stderr, "%s\n", chosen.reason.c_str());
  const std::unique_ptr<TimedRun> run = make(chosen.scenario);
  ScenarioTiming& timing = run->Timing();
  std::fprintf(stderr, "%s%s\n", run->Title().c_str(), timing.Description().c_str());
  const CostEstimate estimate = run->Estimate(true);
  if (timing.Packets()) {
    std::fprintf(stderr, "packet simulation: %s\n", estimate.Text().c_str());
  }

  RunResult result;
  result.directory = MakeRunDirectory(chosen.scenario, program);
  analysis::WriteManifest(result.directory, run->Manifest(program, command_line));
  if (chosen.samples > 0) {
    timing.SamplePackets(chosen.samples, chosen.different, result.directory);
  }
  DirectorySink sink(timing, result.directory);
  Progress progress(run->Steps(), isatty(STDERR_FILENO) != 0);
  result.interrupted = !run->Run(sink, &progress, result.directory);
  progress.Finish();
  if (!result.interrupted) timing.RequirePackets();
  result.note = timing.SampleText();
  return result;
}

}  // namespace legacy
