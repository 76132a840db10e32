// Scaled steps are those of a training in fp16, whose gradients are computed of a scaled loss
// (loss_scale.h).
//
// Each worker's gradient is rounded while it is scaled, and divided by the scale before anything
// else sees it. Exchanges that send every value (SchemeTraits::sends_values) get it scaled again,
// because fp16 on the network has the same range; the mean is divided by the scale. All others
// exchange gradients as they are, so that their residuals do not depend on the scale.
//
// If a gradient overflows at any worker, or the sum of those that are sent in fp16 does, the step
// is exchanged, as workers learn of it only then, but it updates nothing: neither the weights nor
// what exchanges keep.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/model_exchange.h"
#include "trainer/loss_scale.h"
#include "trainer/processes/process_group.h"

namespace legacy {

struct TrainingOptions;

// ScaledSteps belong to one training on the host.
class ScaledSteps {
 public:
  // Throws Error where a training cannot take back steps that overflow.
  static void Check(const TrainingOptions& options, const Scheme& scheme);

  // References outlive this.
  ScaledSteps(const Scheme& scheme, int workers, ModelExchange& exchange, ProcessGroup& processes);

  // Returns the factor on the loss.
  double Factor() const { return scale_.value(); }
  // Returns the number of steps that have updated nothing.
  int64_t skipped() const { return scale_.skipped(); }

  // Starts a step, before anything is encoded. `active` has the active workers of all processes.
  void Begin(std::span<const int> active);
  // Says that the worker's gradient overflows. It may run concurrently for different workers, as
  // the next two functions.
  void Overflow(int worker) { overflows_[worker] = 1; }
  // Divides a worker's gradient by the scale, or sets it to 0 where it overflows.
  void Unscale(int worker, std::span<float> gradient) const;
  // Scales a gradient that is exchanged scaled.
  void ForExchange(std::span<float> gradient) const;
  // Divides the mean of scaled gradients by the scale, and returns true if the step updates the
  // weights. All processes return the same.
  bool Finish(int64_t step, std::span<float> mean);

  void Save(StateWriter& out) const { scale_.Save(out); }
  void Load(StateReader& in) { scale_.Load(in); }

 private:
  bool SumOverflows(std::span<const float> scaled_mean) const;
  bool AnyOverflows(bool own) const;
  void RestoreExchange();

  const bool sends_values_;
  const bool sums_halves_;  // sums are sent in fp16
  ModelExchange& exchange_;
  ProcessGroup& processes_;
  LossScale scale_;
  std::vector<uint8_t> overflows_;  // by worker
  // State of the step: active workers, and what the exchange kept before it.
  std::vector<int> active_;
  Bytes shared_;
  std::vector<Bytes> of_worker_;  // empty for workers of other processes
};

}  // namespace legacy
