// Where steps come from: trainings that run (training.h), or shapes of models whose gradients are
// drawn (scenarios/shapes/drawn_training.h). Both say what a step asks of devices and network; time
// is somebody else's business.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compress/unit.h"
#include "trainer/aggregation.h"
#include "trainer/clock/operation_cost.h"
#include "trainer/clock/step_work.h"

namespace legacy {

struct StepOutcome {
  int64_t step = 0;
  double learning_rate = 0;
  double loss = 0;  // mean over the active workers' batches, before the update
  StepWork work;
  std::vector<UnitOutcome> units;
};

// Sees the gradient of each worker and step, flat, before anything is compressed. Called from any
// thread.
using GradientHook = std::function<void(int64_t step, int worker, std::span<const float> gradient)>;

struct Evaluation {
  double loss = 0;      // mean over the test set
  double accuracy = 0;  // in [0, 1]
};

// What a training computes on, for manifests.
struct BackendReport {
  std::string device;       // cpu, cuda:0
  std::string name;         // of the accelerator
  std::string compression;  // where gradients are compressed, and why not on the device
  std::string steps;        // how the accelerator's work is queued, and why not as one
};

class StepSource {
 public:
  virtual ~StepSource() = default;

  // One step of the workers `active_workers`, ascending; empty: all.
  virtual StepOutcome Step(std::span<const int> active_workers = {}) = 0;
  // Tells the policy what the last step took.
  virtual void OnFeedback(const StepTimes& times) = 0;
  // What its policy decided since the last call: units by their position in Units().
  virtual std::vector<Decision> TakeDecisions() = 0;
  // What the workers take the network for, from the next step on.
  virtual void SetLink(const LinkEstimate& link) = 0;

  // False where nothing is trained: there is no accuracy then, and losses are not numbers.
  virtual bool Evaluates() const = 0;
  virtual Evaluation Evaluate() = 0;
  virtual void SetGradientHook(GradientHook hook) = 0;
  // Complete after the first step.
  virtual BackendReport Report() const = 0;

  virtual std::span<const Unit> Layers() const = 0;  // parameter tensors
  virtual std::span<const Unit> Units() const = 0;   // what is compressed as one
  virtual std::span<const OperationCost> Costs() const = 0;

  std::vector<int64_t> LayerNumels() const {  // for Clock
    std::vector<int64_t> numels;
    for (const Unit& layer : Layers()) numels.push_back(layer.numel);
    return numels;
  }
};

}  // namespace legacy
