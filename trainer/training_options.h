// The settings of a training, which need no LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "compress/exchange.h"
#include "trainer/clock/bucket_plan.h"
#include "trainer/clock/precision.h"
#include "trainer/loss.h"
#include "trainer/optimizer.h"
#include "trainer/schedule.h"

namespace legacy {

class Accelerator;
class ProcessGroup;
class WeightCodec;

// TrainingOptions are the settings of a training.
struct TrainingOptions {
  int workers = 8;
  int64_t batch_size = 32;  // samples of each worker, in each pass
  // Forward and backward passes of a step, whose gradients each worker adds up (accumulation).
  int64_t passes = 1;
  int64_t total_steps = 100;  // horizon of schedule and policy
  // Key of batches, augmentation and the schemes' draws; weights follow ModelRequest::seed.
  uint64_t seed = 1;
  int threads = 1;  // workers that compute at the same time
  SgdOptions sgd;
  AdaptiveOptions optimizer;  // its kind says whether SGD's momentum counts
  ScheduleOptions schedule;
  Scope scope = Scope::kLayer;
  BucketOptions buckets;
  // True: residuals follow the learning rate (Exchange::RescaleResiduals).
  bool rescale_residuals = true;
  double label_smoothing = 0;  // [0, 1)
  // Gradients are those of the mean loss of a step's targets, or of their sum. Reported losses are
  // means.
  LossReduction loss = LossReduction::kMean;
  // Norms, over all layers, to which gradients are clipped; 0: they are not. That of each worker is
  // clipped before it is compressed, the mean before the update.
  double clip_worker = 0;
  double clip_mean = 0;
  // Rounding of weights in passes, and of gradients (docs/training.md).
  Precision precision = Precision::kFp32;
  // Steps between exchanges (local_models.h).
  int64_t local_steps = 1;
  // Optimizer of the weights that workers agree on; nothing: they take the mean. Where there is
  // one, workers train models of their own even with one step between exchanges.
  std::optional<OuterOptions> outer = std::nullopt;
  // The codec of the messages that workers gather in place of weights; null: they gather weights.
  std::shared_ptr<const WeightCodec> weights = nullptr;
  int64_t evaluation_batch = 250;
  std::shared_ptr<Accelerator> accelerator = nullptr;  // null: the host computes
  ProcessGroup* processes = nullptr;                   // that share the workers; null: this one

  // True where workers train models of their own.
  bool Local() const { return local_steps > 1 || outer.has_value(); }
};

}  // namespace legacy
