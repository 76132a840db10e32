// Local models are those of local SGD (Stich, "Local SGD Converges Fast and Communicates Little",
// ICLR 2019) and of DiLoCo (Douillard et al., "DiLoCo: Distributed Low-Communication Training of
// Language Models", 2023): every worker trains a model of its own for H steps; then the workers
// exchange what they moved, and all continue from weights that they agree on. Instead of a
// gradient, a worker exchanges d = weights agreed on - its weights. An outer optimizer takes the
// mean of d as the gradient of the weights agreed on; at rate 1 and without momentum, with the
// dense scheme, that gives the mean of the models. The state of the inner optimizer stays with the
// worker.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compress/unit.h"
#include "trainer/optimizer.h"
#include "trainer/processes/process_group.h"
#include "trainer/torch/master_weights.h"

namespace legacy {

class Model;

// LocalModels are the workers' models, and the weights that they last agreed on.
class LocalModels {
 public:
  // `replicas` has one for each worker of this process, with the weights of `model` that they do
  // not share, and null for the others. In 16 bits replicas have rounded weights, of masters that
  // updates change. What references refer to outlives this.
  LocalModels(std::span<const std::shared_ptr<Model>> replicas, const Model& model,
              std::vector<Unit> layers, const SgdOptions& sgd, const AdaptiveOptions& optimizer,
              const OuterOptions& outer, Precision precision = Precision::kFp32,
              ProcessGroup& processes = OneProcess());

  // Makes one step of a worker on its own model. It may run concurrently for different workers.
  void Update(int worker, std::span<const float> gradient, double rate, int64_t step);
  // Writes the weights agreed on less the worker's, flat.
  void Moved(int worker, std::span<float> out) const;
  // Makes the outer update with the mean of that, and sets all models to the weights agreed on.
  void Agree(std::span<const float> mean);

  // Append and restore the weights agreed on, and those of one worker with its optimizer's state.
  void SaveShared(StateWriter& out) const;
  void LoadShared(StateReader& in);
  void SaveWorker(int worker, StateWriter& out) const;
  void LoadWorker(int worker, StateReader& in);

  // Returns the weights agreed on, flat.
  const std::vector<float>& Agreed() const { return agreed_; }
  // Writes the mean of the workers' weights into `model`. The weights travel between processes,
  // layer by layer.
  void WriteMean(Model& model) const;

 private:
  // Returns the weights of all workers in a layer, one worker's after the other's.
  std::vector<float> AllWeights(size_t layer) const;

  std::vector<std::optional<MasterWeights>> weights_;  // of each worker of this process
  std::vector<Unit> layers_;
  ProcessGroup& processes_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;  // one for each worker
  std::unique_ptr<Optimizer> outer_;
  double outer_rate_;
  Precision precision_;
  std::vector<float> agreed_;  // the weights agreed on, flat
};

}  // namespace legacy
