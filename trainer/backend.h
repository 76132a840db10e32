// Where a training's numbers are and what is done to them: on the host (host_backend.h) or on a
// device (device_backend.h). What a step is and who takes part is Training's to say (training.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trainer/aggregation.h"
#include "trainer/data/dataset.h"
#include "trainer/data/sampler.h"
#include "trainer/models/model.h"
#include "trainer/training.h"

namespace legacy {

// What both are made from; outlives them.
struct BackendJob {
  const TrainingOptions& options;
  const Dataset& dataset;
  const Sampler& sampler;
  const Scheme& scheme;
  Policy& policy;
  std::span<const std::shared_ptr<Model>> replicas;  // by worker
  std::span<const Unit> layers;

  int64_t Numel() const { return layers.back().offset + layers.back().numel; }
  // Of an image's augmentation; none where the data set has none.
  std::optional<RandomKey> AugmentKey(int64_t step, int worker) const;
};

struct BackendStep {
  int64_t step = 0;
  double rate = 0;
  bool exchanges = true;  // whether gradients are exchanged in it
  std::span<const int> workers;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual Aggregation& aggregation() = 0;
  // Throws Error where messages stay on a device.
  virtual void SetMessageHook(MessageHook hook) { message_hook_ = std::move(hook); }
  void SetGradientHook(GradientHook hook) { gradient_hook_ = std::move(hook); }

  // Gradients of the step's workers, into the aggregation where there is an exchange. losses[w]: of
  // worker w's batch.
  virtual void RunWorkers(const BackendStep& step, std::span<double> losses) = 0;
  // The mean of an exchange, and the weights' update by it.
  virtual void Finish(const BackendStep& step) = 0;
  virtual Evaluation Evaluate(int worker) = 0;

  virtual std::vector<float> Weights() const = 0;  // those agreed on
  virtual std::span<const float> Mean() = 0;       // of the last exchange, on the host
  virtual Exchange& UnitExchange(int unit) = 0;
  virtual BackendReport Report() const = 0;

 protected:
  MessageHook message_hook_;
  GradientHook gradient_hook_;
};

// Of the workers' test batches, summed in order.
Evaluation MeanOf(std::span<const double> losses, std::span<const int64_t> hits, int64_t samples);

// Throws the Error of a gradient that is not finite.
[[noreturn]] void ThrowNotFinite(int worker, int64_t step, const Unit& layer, float value);

}  // namespace legacy
