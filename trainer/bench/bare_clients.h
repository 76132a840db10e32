// Bare clients are what people write for federated averaging with LibTorch alone: a loop over the
// clients of a round, each with a fresh torch::optim::SGD from the server's weights, and their mean
// weighted by samples. The benchmark compares FederatedTraining with it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "trainer/federated/partition.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/tasks/classification.h"

namespace legacy::bench {

// A BareOptions says how the clients train.
struct BareOptions {
  int64_t batch_size = 10;
  double learning_rate = 0.01;
  double momentum = 0;
  int threads = 1;
};

class BareClients {
 public:
  // What is referred to outlives this.
  BareClients(const Classification& task, const Partition& partition, const ModelRequest& model,
              const BareOptions& options);

  // Trains one epoch of each client and averages.
  void Round(std::span<const int64_t> clients);

 private:
  void Train(int64_t client, Model& model, std::vector<torch::Tensor>& sums);

  const Classification& task_;
  const Partition& partition_;
  BareOptions options_;
  std::vector<std::shared_ptr<Model>> models_;  // one for each thread
  std::vector<torch::Tensor> weights_;          // of the server
  double loss_ = 0;                             // keeps the compiler from leaving the losses out
};

}  // namespace legacy::bench
