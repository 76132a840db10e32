// Local training: what a client of federated learning does in one task. A task is a pure function
// of the weights that it starts from, of what the client keeps, of the client's samples and of
// keyed draws, so that tasks may run on any thread and in any order, and a task that is given up
// leaves no trace.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/state.h"
#include "compress/unit.h"
#include "trainer/federated/aggregator.h"
#include "trainer/optimizer.h"
#include "trainer/torch/tasks/task.h"
#include "trainer/worker_pool.h"

namespace legacy {

// LocalOptions are the settings of all clients.
struct LocalOptions {
  int64_t batch_size = 16;  // samples of a step; the last one of an epoch may have fewer
  uint64_t seed = 1;
  SgdOptions sgd = {};
  AdaptiveOptions optimizer = {};
  double clip = 0;             // norm to which a step's gradient is clipped; 0: it is not
  double label_smoothing = 0;  // [0, 1)
  bool squares = false;        // true: results have squared_loss
};

// A LocalTask is one turn of one client.
struct LocalTask {
  int64_t version = 0;  // key of its draws: that of the model, or the number of the task
  int64_t client = 0;
  std::span<const int64_t> samples;  // of the client
  int64_t epochs = 1;
  int64_t steps = 0;            // where above 0, that many steps instead of epochs
  int64_t from = 0;             // steps of these that were made before; it continues after them
  std::span<const float> base;  // weights that it starts from, flat
  // Statistics of batch norm that it starts from, flat; empty: those of the request.
  std::span<const float> buffers = {};
  // What the algorithm's rule reads (aggregator.h): the server's vector, and the client's.
  std::span<const float> downlink = {};
  std::span<const float> state = {};
  ByteSpan optimizer = {};                     // state of the optimizer; empty: a new one
  int64_t first_step = 0;                      // steps that this optimizer has made
  bool keep_weights = false;                   // true: the result has them
  std::function<double(int64_t step)> rate{};  // learning rate of a step of this task, from 0
};

// A LocalResult is what a task leaves.
struct LocalResult {
  std::vector<float> update;  // weights less those that it started from
  int64_t local_steps = 0;
  int64_t samples = 0;              // of the client
  double loss = 0;                  // mean over the samples of all its steps, as each step found it
  double squared_loss = 0;          // mean of the squares of their losses, likewise
  int64_t seen = 0;                 // samples of all its steps
  bool finite = true;               // false: the update or the statistics have NaN or infinity
  std::vector<float> buffers = {};  // statistics of batch norm
  Bytes optimizer = {};             // state of the optimizer
  std::vector<float> weights = {};  // at its end, where LocalTask asks for them
};

// Returns the number of local steps that a task makes, after those made before.
int64_t LocalSteps(const LocalTask& task, int64_t batch_size);

// LossMoments are means over the samples of a batch.
struct LossMoments {
  double mean = 0;
  double squares = 0;  // of the losses' squares, where LocalOptions asks for them
};

// A LocalTrainer has the model of one thread.
class LocalTrainer {
 public:
  // What references refer to outlives this. Throws Error on options out of range and on models that
  // do not fit the task.
  LocalTrainer(const Task& task, const SampleSet& samples, const ModelRequest& model,
               const LocalOptions& options, const ClientRule& rule);

  LocalResult Train(const LocalTask& task);

  std::span<const Unit> layers() const { return layers_; }
  // Sets the model to weights and buffers, and returns it, for evaluations.
  Model& Set(std::span<const float> weights, std::span<const float> buffers);
  // Returns the weights and buffers that the request gives.
  const std::vector<float>& initial_weights() const { return initial_weights_; }
  const std::vector<float>& initial_buffers() const { return initial_buffers_; }

 private:
  std::span<float> Weights(size_t layer) const;
  std::vector<float> Buffers() const;
  // Makes a step. Returns the losses of the batch, at the weights before it.
  LossMoments Step(const LocalTask& task, std::span<const int64_t> batch, int64_t step,
                   Optimizer& optimizer);

  const Task& task_;
  const SampleSet& samples_;
  LocalOptions options_;
  ClientRule rule_;
  std::shared_ptr<Model> model_;
  std::vector<torch::Tensor> parameters_;
  std::vector<Unit> layers_;
  std::vector<float> initial_weights_;
  std::vector<torch::Tensor> buffers_;  // of floats
  std::vector<float> initial_buffers_;
  Bytes initial_state_;          // of everything that passes change
  std::vector<float> gradient_;  // of a step, flat
};

// Evaluates the model of a version on the task's whole test set, in parts of that many samples.
// Throws Error that names the version where loss or a metric is not finite.
Evaluation EvaluateOn(const Task& task, Model& model, int64_t version, int64_t batch,
                      WorkerPool& pool);

}  // namespace legacy
