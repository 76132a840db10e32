// Steps come from trainings that run (training.h), or from shapes of models whose gradients are
// drawn (scenarios/shapes/drawn_training.h). Both say what a step asks of devices and network; the
// clock computes how long that takes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/files/section_file.h"
#include "compress/unit.h"
#include "trainer/aggregation.h"
#include "trainer/clock/operation_cost.h"
#include "trainer/clock/step_work.h"
#include "trainer/data/task_catalog.h"

namespace legacy {

// A StepOutcome is the result of a step.
struct StepOutcome {
  int64_t step = 0;
  double learning_rate = 0;
  double loss = 0;  // mean over the active workers' batches, before the update
  StepWork work;
  std::vector<UnitOutcome> units;
};

// A GradientHook sees the gradient of each worker and step, flat, before anything is compressed. It
// is called from any thread.
using GradientHook = std::function<void(int64_t step, int worker, std::span<const float> gradient)>;

// A BackendReport says what a training computes on, for manifests.
struct BackendReport {
  std::string device;       // device: cpu, cuda:0
  std::string name;         // name of the accelerator
  std::string compression;  // where gradients are compressed, and why not on the device
  std::string steps;        // how the accelerator's work is queued, and why not as one
};

// A StepSource gives steps one after the other.
class StepSource {
 public:
  virtual ~StepSource() = default;

  // Makes one step of `active_workers`, ascending; empty: all workers.
  virtual StepOutcome Step(std::span<const int> active_workers = {}) = 0;
  // Tells the policy how long the last step took.
  virtual void OnFeedback(const StepTimes& times) = 0;
  // Returns what its policy decided since the last call; units are positions in Units().
  virtual std::vector<Decision> TakeDecisions() = 0;
  // Sets the estimate that workers have of the network, from the next step on.
  virtual void SetLink(const LinkEstimate& link) = 0;

  // Returns the metrics by which the training is judged, those of its task. They are empty where
  // nothing is trained: there are no evaluations then, and losses are NaN.
  virtual std::span<const Metric> Metrics() const = 0;
  bool Evaluates() const { return !Metrics().empty(); }
  // Returns loss and metrics on the test set.
  virtual Evaluation Evaluate() = 0;
  virtual void SetGradientHook(GradientHook hook) = 0;
  // Returns what the source computes on. It is complete after the first step.
  virtual BackendReport Report() const = 0;

  // Returns the reason why the source cannot be saved; empty: it can.
  virtual std::string CannotSave() const = 0;
  // Writes everything that its later steps depend on. Decisions are taken before.
  virtual void Save(SectionWriter& out) const = 0;
  // Restores that of a source made with the same options, which then makes the same steps to the
  // bit. Throws Error on sections of another one; the source is then no longer usable.
  virtual void Load(const SectionFile& in) = 0;
  // Take part in Save and Load of process 0, in another process that trains with it.
  virtual void JoinSave() const {}
  virtual void JoinLoad() {}

  // Returns the parameter tensors.
  virtual std::span<const Unit> Layers() const = 0;
  // Returns what is compressed as one piece each.
  virtual std::span<const Unit> Units() const = 0;
  // Returns the costs of the model's operations.
  virtual std::span<const OperationCost> Costs() const = 0;
};

}  // namespace legacy
