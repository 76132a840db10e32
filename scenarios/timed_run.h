// A run directory from beginning to end, whatever its trainings come from: trained now, replayed, or read from a trace.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/manifest.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/progress.h"
#include "scenarios/timing.h"

namespace legacy {

// All trainings of a scenario whose fidelity is chosen.
class TimedRun {
 public:
  virtual ~TimedRun() = default;
  virtual ScenarioTiming& Timing() = 0;
  // Of simulating packets. `say`: what there is to say of each training goes to standard error.
  virtual CostEstimate Estimate(bool say) = 0;
  virtual std::string Title() const = 0;  // what is timed, for people
  virtual nlohmann::json Manifest(const std::string& program,
                                  const std::string& command_line) const = 0;
  virtual int64_t Steps() const = 0;  // of all trainings
  // Writes all rows; what else it leaves goes to `directory`. False where it was stopped.
  virtual bool Run(RunSink& sink, Progress* progress, const std::filesystem::path& directory) = 0;
};

// Makes the run, with the fidelity that `scenario` asks for or `auto` chooses, and its directory, with progress on standard
// error. Throws Error on what cannot be; nothing is left behind then.
RunResult FillRunDirectory(const Scenario& scenario, const std::string& program,
                           const std::string& command_line,
                           const std::function<std::unique_ptr<TimedRun>(const Scenario&)>& make);

}  // namespace legacy
