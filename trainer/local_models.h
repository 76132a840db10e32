// Local SGD (Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019): every worker
// trains a model of its own for H steps; then the workers exchange what they moved, and all go on
// from the mean. What is exchanged is the sum of a worker's updates (weights agreed on - its
// weights), in place of a gradient: with the dense scheme the mean of the models, with others a
// compressed one. Momentum stays with the worker.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compress/unit.h"
#include "trainer/optimizer.h"

namespace legacy {

class Model;

class LocalModels {
 public:
  // `replicas`: one for each worker, of equal weights that they do not share; outlive this.
  LocalModels(std::span<const std::shared_ptr<Model>> replicas, std::vector<Unit> layers,
              const SgdOptions& sgd);

  // One step of a worker on its own model. Concurrently for different workers.
  void Update(int worker, std::span<const float> gradient, double rate);
  // What the worker moved since the last agreement, flat.
  void Moved(int worker, std::span<float> out) const;
  // All models go on from the weights agreed on, less the mean of what was moved.
  void Agree(std::span<const float> mean);

  const std::vector<float>& Agreed() const { return agreed_; }
  // Writes the mean of the workers' weights into `model`.
  void WriteMean(Model& model) const;

 private:
  std::span<float> Weights(int worker, size_t layer) const;

  std::vector<std::shared_ptr<Model>> replicas_;
  std::vector<Unit> layers_;
  std::vector<Sgd> optimizers_;  // of each worker
  std::vector<float> agreed_;    // flat
};

}  // namespace legacy
