// A backend holds a training's numbers and computes on them: on the host (host_backend.h) or on a
// device (device_backend.h). Training says what a step is and who is active (training.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/aggregation.h"
#include "trainer/processes/process_group.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/tasks/task.h"
#include "trainer/torch/training.h"

namespace legacy {

// A BackendJob is what a backend is made from; it outlives the backend.
struct BackendJob {
  const TrainingOptions& options;
  const Task& task;
  const Feed& feed;
  const Scheme& scheme;
  Policy& policy;
  std::span<const std::shared_ptr<Model>> replicas;  // by worker; null: another process's
  Model& model;  // has the weights: that of the first worker of this process
  std::span<const Unit> layers;
  ProcessGroup& processes;

  // Returns the factor on the mean loss of a pass's targets whose gradient the pass adds.
  double LossScale(const Batch& pass) const;
  int64_t Numel() const { return layers.back().offset + layers.back().numel; }
  // Returns the key of what a worker draws in a pass of a step.
  RandomKey DrawKey(int64_t step, int worker, Purpose purpose, int64_t pass = 0) const;
};

// A Backend computes the steps of one training.
class Backend {
 public:
  virtual ~Backend() = default;

  Aggregation& aggregation() { return *aggregation_; }
  // Sets a hook of all workers' gradients.
  void SetGradientHook(GradientHook hook) { gradient_hook_ = std::move(hook); }

  // Computes the gradients of step.active_workers, which is never empty here, and adds them to the
  // aggregation where the step has an exchange. losses[w] becomes the loss of worker w's batch.
  virtual void RunWorkers(const StepInfo& step, bool exchanges, std::span<double> losses) = 0;
  // Forms the mean of an exchange and updates the weights with it.
  virtual void Finish(const StepInfo& step) = 0;
  // Evaluates the worker's model on the test set.
  virtual Evaluation Evaluate(int worker) = 0;

  // Returns a flat copy of the weights; with local steps those last agreed on.
  virtual std::vector<float> Weights() const = 0;
  // Returns the mean gradient of the last exchange, on the host.
  virtual std::span<const float> Mean() = 0;
  // Returns what the training computes on, for manifests.
  virtual BackendReport Report() const = 0;

  // Returns the reason why the state cannot be saved; empty: it can.
  virtual std::string CannotSave() const = 0;
  // Save and load what lasts from step to step: what all workers share, and what one worker has.
  virtual void SaveShared(StateWriter& out) const = 0;
  virtual void LoadShared(StateReader& in) = 0;
  virtual void SaveWorker(int worker, StateWriter& out) const = 0;
  virtual void LoadWorker(int worker, StateReader& in) = 0;

 protected:
  std::unique_ptr<Aggregation> aggregation_;  // made by the implementation
  GradientHook gradient_hook_;
};

// Throws the Error that names a gradient value that is not finite, and what may help.
[[noreturn]] void ThrowNotFinite(int worker, int64_t step, const Unit& layer, float value,
                                 const Scheme& scheme);

}  // namespace legacy
