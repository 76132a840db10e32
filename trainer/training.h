// Synchronous data-parallel training of N workers in one process: every gradient is computed,
// compressed, decoded and averaged for real; time is somebody else's business (clock.h). There is
// one copy of the weights; each worker has its batch-norm statistics here and its residuals in the
// exchanges.
//
// Same options, same bits, whatever `threads` is, on one kind of processor (HostLibraries): workers
// compute with one intra-op thread each, messages are taken in by worker order, and every draw is
// keyed by (seed, worker, step). On an accelerator workers compute one after the other, and results
// are those of its LibTorch.
//
//   Training training(options, dataset, request, MakeUniformPolicy(0.01), MakeScheme("topk", {}));
//   while (training.step() < options.total_steps) { StepOutcome outcome = training.Step(); ... }
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compress/exchange.h"
#include "compress/policy.h"
#include "trainer/aggregation.h"
#include "trainer/clock/bucket_plan.h"
#include "trainer/optimizer.h"
#include "trainer/schedule.h"
#include "trainer/step_source.h"

namespace legacy {

class Accelerator;
struct Dataset;
struct ModelRequest;
class Model;

struct TrainingOptions {
  int workers = 8;
  int64_t batch_size = 32;    // of each worker
  int64_t total_steps = 100;  // horizon of schedule and policy
  uint64_t seed =
      1;            // batches, augmentation and the schemes' draws; weights have ModelRequest::seed
  int threads = 1;  // workers that compute at the same time
  SgdOptions sgd;
  ScheduleOptions schedule;
  Scope scope = Scope::kLayer;
  BucketOptions buckets;
  bool rescale_residuals = true;  // by lr_old / lr_new when the rate changes
  int64_t local_steps = 1;        // local SGD: an exchange every so many steps (local_models.h)
  int64_t evaluation_batch = 250;
  std::shared_ptr<Accelerator> accelerator = nullptr;  // null: the host computes
};

// Which kernels compute on the host, for manifests. LibTorch and BLAS choose them by the processor,
// and their sums have another order each: trainings repeat to the bit where both are equal.
struct HostLibraries {
  std::string cpu_capability = "unknown";  // DEFAULT, AVX2, AVX512 ...
  std::string blas = "unknown";            // "OpenBLAS 0.3.21 ... SkylakeX"
};
HostLibraries DescribeHostLibraries();

class Training : public StepSource {
 public:
  // `dataset` outlives the training. Throws Error on options out of range and on a model that does
  // not fit the data.
  Training(const TrainingOptions& options, const Dataset& dataset, const ModelRequest& model,
           std::unique_ptr<Policy> policy, std::unique_ptr<Scheme> scheme);
  ~Training() override;

  // One step of the workers `active_workers` (ascending; empty: all): the mean is over them. The
  // others compute nothing, and their residuals, batch-norm statistics and other state stay; their
  // batches of the step are skipped. Throws Error where the list is not ascending or not of
  // workers, on NaN or infinity in a gradient (naming worker, step and layer) and on messages that
  // do not decode; the training is then no longer usable.
  StepOutcome Step(std::span<const int> active_workers = {}) override;

  void OnFeedback(const StepTimes& times) override;
  void SetLink(const LinkEstimate& link) override;
  bool Evaluates() const override { return true; }
  std::vector<Decision> TakeDecisions() override;

  // On the whole test set, with the batch-norm statistics of the worker that took part in the most
  // steps; the lowest of several, so worker 0 where all take part.
  Evaluation Evaluate() override;

  // Throws Error where messages stay on an accelerator.
  void SetMessageHook(MessageHook hook);
  void SetGradientHook(GradientHook hook) override;

  BackendReport Report() const override;

  int64_t step() const;  // steps done
  int64_t StepsPerEpoch() const;
  const TrainingOptions& options() const;
  const Policy& policy() const;
  const Scheme& scheme() const;

  std::span<const Unit> Layers() const override;
  std::span<const Unit> Units() const override;
  std::span<const OperationCost> Costs() const override;

  std::vector<float> Weights()
      const;  // flat copy, in parameter order; with local steps those last agreed on
  std::span<const float> MeanGradient() const;  // of the last step, flat
  Model& Replica(int worker);        // shared weights (with local steps its own), own buffers
  Exchange& UnitExchange(int unit);  // throws Error where exchanges are on an accelerator

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace legacy
