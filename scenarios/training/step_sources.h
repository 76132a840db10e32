// Step sources provide the steps of a comparison: from a data set and a model that is trained
// (trained_sources.cc), from the shape of a model that is not (shapes/drawn_sources.cc), or from
// both (shapes/joined_sources.cc). A comparison makes one source for each of its trainings, and
// times all of them in the same way.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/programs/program.h"
#include "scenarios/options/methods.h"
#include "scenarios/options/scenario.h"
#include "trainer/processes/launch.h"
#include "trainer/processes/process_group.h"
#include "trainer/step_source.h"
#include "trainer/training_options.h"

namespace legacy {

// BackendReports has the report of each method's first step, by method.
using BackendReports = std::map<std::string, BackendReport>;

// A HostModel is what a model takes memory for.
struct HostModel {
  std::vector<Unit> layers;
  std::vector<OperationCost> costs;
};

// StepSources make the sources of one comparison.
class StepSources {
 public:
  virtual ~StepSources() = default;

  // Returns the parameter tensors of what steps send.
  virtual std::span<const Unit> Layers() const = 0;
  virtual int64_t StepsPerEpoch() const = 0;
  // Returns the model that is trained in the host's memory; nothing where none is.
  virtual std::optional<HostModel> InHostMemory() const { return std::nullopt; }
  // Returns the metrics of the task; empty where nothing is trained, so that none is known.
  virtual std::span<const Metric> Metrics() const = 0;
  // Lets the devices of all processes carry messages, where they can. All processes call it
  // together.
  virtual void Connect(ProcessGroup&) {}
  // Makes the source of one training by a method, which is `built` for Layers(). This object
  // outlives it.
  virtual std::unique_ptr<StepSource> Make(const TrainingOptions& options, const Method& method,
                                           BuiltMethod built) = 0;

  // Return texts for people, before the first step and after the first step of a method. Empty: no
  // text.
  virtual std::string Announcement() const { return ""; }
  virtual std::string Text(const BackendReport& report) const = 0;
  // Adds what the manifest says about the source.
  virtual void Describe(const BackendReports& reports, nlohmann::json& manifest) const = 0;
  // Returns a text for people under the tables; empty: none.
  virtual std::string Note(const BackendReports&) const { return ""; }
};

// Returns the sources of trainings in one of several processes, each of which takes a device of its
// machine. `scenario` outlives them. Throws Error on data, models and devices that do not exist.
std::unique_ptr<StepSources> TrainedSources(const Scenario& scenario,
                                            const ProcessGroup& processes);
// Loads what TrainedSources() needs, mainly LibTorch, once for each process. Called before a fork,
// it saves the children that work. Throws Error where it cannot be loaded, or was loaded with
// another setting.
void LoadTraining(Processor processor);
// Joins the processes of a launch (trainer/torch/processes/gloo_group.h).
std::unique_ptr<ProcessGroup> JoinProcesses(const Launch& launch, Processor processor,
                                            const StopFlag& stop);
// Returns the sources of the scenario's shape (training.layers). Throws Error on files that are not
// shapes.
std::unique_ptr<StepSources> DrawnSources(const Scenario& scenario);
// Returns sources that learn as `learnt` do, and send and compute what the scenario's other shape
// does (training.times_of). Throws Error likewise.
std::unique_ptr<StepSources> JoinedSources(const Scenario& scenario,
                                           std::unique_ptr<StepSources> learnt);

}  // namespace legacy
