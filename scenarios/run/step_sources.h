// What the steps of a comparison come from: a data set and a model that is trained
// (trained_sources.cc), or the shape of one that is not (shapes/drawn_sources.cc). A comparison
// makes a source for each of its trainings, and times them alike.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "scenarios/options/methods.h"
#include "scenarios/options/scenario.h"
#include "trainer/step_source.h"
#include "trainer/training.h"

namespace legacy {

// By method, of its first step.
using BackendReports = std::map<std::string, BackendReport>;

class StepSources {
 public:
  virtual ~StepSources() = default;

  virtual std::string Title() const = 0;  // "small-cnn"
  virtual std::span<const Unit> Layers() const = 0;
  virtual int64_t StepsPerEpoch() const = 0;
  // False where nothing is trained, and no accuracy is known.
  virtual bool Evaluates() const = 0;
  // `method` without what the source takes over: policy and scheme. This outlives the source.
  virtual std::unique_ptr<StepSource> Make(const TrainingOptions& options, BuiltMethod method) = 0;

  // Before the first step, and after that of a method; for people, "": nothing.
  virtual std::string Announcement() const { return ""; }
  virtual std::string Text(const BackendReport& report) const = 0;
  // Adds what a manifest says of the source.
  virtual void Describe(const BackendReports& reports, nlohmann::json& manifest) const = 0;
  // Under the tables, for people.
  virtual std::string Note(const BackendReports&) const { return ""; }
};

// The scenario's; it outlives the result. Throws Error on data, models and devices that are not
// there.
std::unique_ptr<StepSources> TrainedSources(const Scenario& scenario);
// Loads what TrainedSources() needs, LibTorch above all, once a process: before a fork, so that
// children need not. Throws Error where it cannot be loaded.
void LoadTraining();
// Of the scenario's shape (training.layers). Throws Error on files that are none.
std::unique_ptr<StepSources> DrawnSources(const Scenario& scenario);

}  // namespace legacy
