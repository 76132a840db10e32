// The host backend trains on the host: workers run side by side on the threads of a pool, each with
// one intra-op thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "trainer/host_exchange.h"
#include "trainer/optimizer.h"
#include "trainer/scaled_steps.h"
#include "trainer/torch/backend.h"
#include "trainer/torch/local_models.h"
#include "trainer/torch/master_weights.h"
#include "trainer/worker_pool.h"

namespace legacy {

// A HostBackend computes on the threads of a WorkerPool.
class HostBackend : public Backend {
 public:
  HostBackend(const BackendJob& job, UnitPlan plan);

  void RunWorkers(const StepInfo& step, bool exchanges, std::span<double> losses) override;
  void Finish(const StepInfo& step) override;
  Evaluation Evaluate(int worker) override;
  std::vector<float> Weights() const override;
  std::span<const float> Mean() override { return mean_; }
  BackendReport Report() const override;
  std::string CannotSave() const override { return ""; }
  void SaveShared(StateWriter& out) const override;
  void LoadShared(StateReader& in) override;
  void SaveWorker(int worker, StateWriter& out) const override;
  void LoadWorker(int worker, StateReader& in) override;

 private:
  double RunWorker(const StepInfo& step, bool exchanges, int worker, std::span<float> gradient);
  // Writes the gradient of one pass, or adds it to `gradient`. Returns the mean loss of its
  // targets.
  double Pass(int worker, const Batch& batch, ModelState& state, bool adds,
              std::span<float> gradient);
  // Rounds a part of a worker's gradient.
  void Round(int worker, std::span<float> part);
  // Writes the gradient of all passes over a worker's batch. Returns the mean of their losses.
  double Gradient(const StepInfo& step, int worker, std::span<float> gradient);
  void CheckFinite(const StepInfo& step, int worker, std::span<const float> gradient) const;
  void ClipLocally(std::span<float> gradient) const;
  // Returns what the optimizer is told of a layer.
  UpdateInfo InfoOf(const StepInfo& step, const Unit& layer) const;
  // Turns a worker's gradient into its momentum, where workers exchange that.
  void ToMomentum(const StepInfo& step, std::span<float> gradient) const;

  BackendJob job_;
  WorkerPool pool_;
  std::vector<ModelState> states_;  // states by worker and pass
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<int64_t> momentum_from_;  // SchemeTraits::momentum_from
  // Weights that all workers share; or models of local SGD, where there are local steps.
  std::optional<MasterWeights> weights_;
  std::optional<LocalModels> local_;
  std::optional<ScaledSteps> scaled_;          // in fp16 alone
  std::vector<std::vector<float>> gradients_;  // gradients by pool thread
  std::vector<float> mean_;
};

}  // namespace legacy
