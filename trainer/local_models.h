// Local models are those of local SGD (Stich, "Local SGD Converges Fast and Communicates Little",
// ICLR 2019): every worker trains a model of its own for H steps; then the workers exchange their
// updates, and all go on from the mean. Instead of a gradient, a worker exchanges the sum of its
// updates (weights agreed on - its weights). With the dense scheme that gives the mean of the
// models, with other schemes a compressed one. Momentum stays with the worker.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compress/unit.h"
#include "trainer/optimizer.h"

namespace legacy {

class Model;

// LocalModels are the workers' models, and the weights that they last agreed on.
class LocalModels {
 public:
  // `replicas` has one for each worker, with equal weights that they do not share. They outlive
  // this.
  LocalModels(std::span<const std::shared_ptr<Model>> replicas, std::vector<Unit> layers,
              const SgdOptions& sgd, const AdaptiveOptions& optimizer);

  // Makes one step of a worker on its own model. It may run concurrently for different workers.
  void Update(int worker, std::span<const float> gradient, double rate, int64_t step);
  // Writes the sum of the worker's updates since the last agreement, flat.
  void Moved(int worker, std::span<float> out) const;
  // Sets all models to the weights agreed on, less the mean of the updates.
  void Agree(std::span<const float> mean);

  // Returns the weights agreed on, flat.
  const std::vector<float>& Agreed() const { return agreed_; }
  // Writes the mean of the workers' weights into `model`.
  void WriteMean(Model& model) const;

 private:
  std::span<float> Weights(int worker, size_t layer) const;

  std::vector<std::shared_ptr<Model>> replicas_;
  std::vector<Unit> layers_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;  // one for each worker
  std::vector<float> agreed_;                           // the weights agreed on, flat
};

}  // namespace legacy
