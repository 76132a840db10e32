// A training is synchronous data-parallel training of N workers: every gradient is computed,
// compressed, decoded and averaged for real; times come from the clock (clock.h). There is one copy
// of the weights; each worker has its batch-norm statistics here and its residuals in the
// exchanges.
//
// One process simulates all workers, or several processes share them (processes/process_group.h).
// Each has a Training with the same options and its own part of the workers, and calls the same
// functions in the same order: Step, Evaluate, and Save or Load in process 0 with JoinSave or
// JoinLoad in the others. Results are process 0's, and the same as those of one process.
//
// Equal options give equal bits, whatever `threads` is, with the same kernels (host_kernels.h):
// workers compute with one intra-op thread each, messages are accumulated in the order of workers,
// and every draw is keyed by (seed, worker, step). On an accelerator workers compute one after the
// other, and results are those of its LibTorch.
//
//   Training training(options, task, request, MakeUniformPolicy(0.01), MakeScheme("topk", {}));
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
#include "trainer/step_source.h"
#include "trainer/training_options.h"

namespace legacy {

struct ModelRequest;
class Model;
class Task;

// A Training is a StepSource that computes real gradients.
class Training : public StepSource {
 public:
  // `task` outlives the training. Throws Error on options out of range and on a model that does not
  // fit the task.
  Training(const TrainingOptions& options, const Task& task, const ModelRequest& model,
           std::unique_ptr<Policy> policy, std::unique_ptr<Scheme> scheme);
  ~Training() override;

  // Makes one step of `active_workers` (ascending; empty: all), and forms the mean over them. The
  // others compute nothing: their residuals, batch-norm statistics and other state stay, and their
  // batches of the step are skipped. Throws Error where the list is not ascending or names no
  // worker, on NaN or infinity in a gradient (naming worker, step and layer) and on messages that
  // do not decode; the training is then no longer usable.
  StepOutcome Step(std::span<const int> active_workers = {}) override;

  void OnFeedback(const StepTimes& times) override;
  void SetLink(const LinkEstimate& link) override;
  std::span<const Metric> Metrics() const override;
  std::vector<Decision> TakeDecisions() override;

  // Evaluates on the whole test set, of which each process takes a part, with the batch-norm
  // statistics of the worker that was active in the most steps; the lowest of several, so worker 0
  // where all are active. Throws Error naming the step where loss or a metric is not finite.
  Evaluation Evaluate() override;

  // Sets a hook of all messages. Throws Error where messages stay on an accelerator.
  void SetMessageHook(MessageHook hook);
  // The hook sees the workers of this process.
  void SetGradientHook(GradientHook hook) override;

  BackendReport Report() const override;

  std::string CannotSave() const override;
  // The sections are "training", "shared", and "worker N" for each worker.
  void Save(SectionWriter& out) const override;
  void Load(const SectionFile& in) override;
  void JoinSave() const override;
  void JoinLoad() override;

  // Returns the number of steps done.
  int64_t step() const;
  int64_t StepsPerEpoch() const;
  const TrainingOptions& options() const;
  const Policy& policy() const;
  const Scheme& scheme() const;

  std::span<const Unit> Layers() const override;
  std::span<const Unit> Units() const override;
  std::span<const OperationCost> Costs() const override;

  // Returns a flat copy of the weights in parameter order; with local steps, those last agreed on.
  std::vector<float> Weights() const;
  // Returns the mean gradient of the last step, flat.
  std::span<const float> MeanGradient() const;
  // Returns a worker's model: shared weights (with local steps its own), and its own buffers. The
  // worker is one of this process.
  Model& Replica(int worker);
  // Returns a copy of the unit's residual at the worker; empty without error feedback.
  std::vector<float> Residual(int unit, int worker) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace legacy
