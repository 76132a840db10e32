// A device backend trains on a device: weights, gradients, data set and, where the scheme has
// kernels, residuals and messages stay in its memory. Workers compute one after the other. Where
// LibTorch can record, a worker's computation is recorded at its first step and queued as one from
// then on. The host waits for the device once before the exchange, to read losses and whether
// gradients are finite, and again where the exchange waits.
//
// Of several processes, each computes on a device of its own, for its own workers; gradients are
// compressed on the host (host_exchange.h), so that messages can travel.
//
// A step's results equal those of host_backend.h to the bit where LibTorch's own results do, which
// is so on an emulated device only.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "trainer/host_exchange.h"
#include "trainer/torch/accelerator.h"
#include "trainer/torch/backend.h"
#include "trainer/torch/data/device_data.h"
#include "trainer/torch/tasks/classification.h"
#include "trainer/worker_pool.h"

namespace legacy {

// A DeviceBackend computes on one accelerator.
class DeviceBackend : public Backend {
 public:
  // Puts the replicas on the device: views of one flat array, or with local steps one row of it for
  // each worker of this process.
  DeviceBackend(const BackendJob& job, UnitPlan plan, Accelerator& accelerator);

  void RunWorkers(const StepInfo& step, bool exchanges, std::span<double> losses) override;
  void Finish(const StepInfo& step) override;
  Evaluation Evaluate(int worker) override;
  std::vector<float> Weights() const override;
  std::span<const float> Mean() override;
  BackendReport Report() const override;
  std::string CannotSave() const override {
    return "checkpoints hold what is in the host's memory (--device=cpu)";
  }
  void SaveShared(StateWriter&) const override { throw Error("device: " + CannotSave()); }
  void LoadShared(StateReader&) override { throw Error("device: " + CannotSave()); }
  void SaveWorker(int, StateWriter&) const override {}
  void LoadWorker(int, StateReader&) override {}

 private:
  void PlaceReplicas();
  void OpenAggregation(UnitPlan plan);
  void ChooseSamples();
  void QueueGradient(int worker);
  void RunWorker(const StepInfo& step, bool exchanges, int worker, std::span<double> losses);
  void AddGradient(int worker);
  void ReadLosses(const StepInfo& step, std::span<const int> active,
                  std::span<double> losses) const;
  // Sends work to the accelerator's queue, with products in the training's precision.
  void UseAccelerator() const;
  // Writes the weights, rounded, where passes read them.
  void Publish();
  void Publish(int64_t row);
  void UpdateWeights(int64_t row, const torch::Tensor& gradient, double rate);
  // Writes the mean of all workers' weights.
  void WriteMean(torch::Tensor& mean) const;
  void EvaluateParts(Model& model, std::span<const int64_t> parts,
                     std::span<MetricSums> sums) const;
  void Agree();
  bool local() const { return job_.options.Local(); }
  // Returns the position of a worker among those of this process.
  int64_t Slot(int worker) const { return worker / job_.processes.size(); }
  // Returns the row of a worker's weights.
  int64_t RowOf(int worker) const { return local() ? Slot(worker) : 0; }

  BackendJob job_;
  std::vector<int> own_;  // workers of this process
  const ImageFeed& feed_;
  Accelerator& accelerator_;
  WorkerPool pool_;  // threads that compress on the host
  DeviceData data_;
  std::unique_ptr<StepKernels> kernels_;

  // These tensors are float32 on the device.
  torch::Tensor weights_;   // [1 or own workers, numel]
  torch::Tensor rounded_;   // those that passes read, in bf16's values; undefined in fp32
  torch::Tensor velocity_;  // velocity in the same shape; undefined without momentum
  torch::Tensor agreed_;    // [numel], with local steps
  torch::Tensor outer_;     // velocity of the outer optimizer; undefined without momentum
  torch::Tensor gradient_;  // [numel], the gradient of one worker after the other
  torch::Tensor mean_;
  // int32 [own workers, 1 + 2 layers]: bits of the loss, bits of each layer's largest magnitude,
  // and each layer's first position that is not finite.
  torch::Tensor findings_;
  // [own workers, batch, ...]: each worker's samples (DeviceData::Choice).
  torch::Tensor choices_;

  // Recordings by worker; empty before its first step.
  std::vector<std::function<void()>> recorded_;
  bool records_ = true;
  std::string not_recorded_;  // reason why steps are not recorded

  bool OnDevice() const { return not_on_device_.empty(); }
  std::string not_on_device_;  // reason why exchanges run on the host; empty where they do not
  std::vector<float> host_gradient_;  // a worker's gradient, where the host needs it
  std::vector<float> host_mean_;
};

}  // namespace legacy
