// Step work is what one synchronous step asks of devices and network, independent of both: which
// layers are sent together, in which collective calls, the length of every worker's message and the
// device work around it. The clock turns it into times for one profile and one set of algorithms; a
// recorded training is a list of these values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compress/exchange.h"

namespace legacy {

// BucketWork is the work of layers that are sent together.
struct BucketWork {
  std::vector<int> layers;  // positions in the model's parameter order; their order has no meaning
  int64_t elements = 0;     // elements of the dense gradient of these layers
  std::vector<SentCall> calls;
};

// WeightWork is what travels when the weights of a layer are gathered that are not sent as they
// are: each owner sends the message of its slice to all workers.
struct WeightWork {
  int layer = 0;       // position in the model's parameter order
  OwnedSlices slices;  // bytes of the message of each
  WorkList encode;     // work of an owner, once a step
  WorkList decode;     // work of each worker, whenever it gathers the layer
};

// Largest number of workers that readers of recordings allow.
inline constexpr int64_t kMostRecordedWorkers = 65536;
// Largest number of passes of a step.
inline constexpr int64_t kMostPasses = 65536;

// StepWork is the work of one step.
struct StepWork {
  int64_t step = 0;
  int workers = 0;
  int64_t batch_size = 0;  // samples of each worker, in each pass
  int64_t passes = 1;      // forward and backward passes whose gradients are added up
  // Work of each worker on its whole gradient, before anything is encoded (clipping to a norm).
  // Where there is any, encoding starts when the backward pass is over.
  std::vector<Work> whole_gradient = {};
  // Work of each worker on its weights, at the beginning of the step; nothing: the update that the
  // clock knows, as with data parallelism.
  std::optional<WorkList> update = {};
  // Buckets in the order in which the backward pass completes them.
  std::vector<BucketWork> buckets = {};
  // Messages of the layers whose weights are gathered as messages; empty: there are none.
  std::vector<WeightWork> weights = {};
  // Workers whose gradients count, ascending; empty: all. The others send nothing.
  std::vector<int> active_workers = {};
  // Steps that each worker makes by itself before the exchange, in federated trainings without a
  // server; empty: the passes above.
  std::vector<int64_t> local_steps = {};

  // True where the worker is active in the step.
  bool TakesPart(int worker) const;
  // Returns the number of active workers.
  int64_t ActiveWorkers() const;
  // Returns the message bytes of one worker over all buckets and collective calls: the payload,
  // before collectives forward it.
  int64_t MessageBytes(int worker) const;
};

// Returns the units of one bucket, merged. Units whose collective calls have the same collectives,
// reductions and roots are sent together: bytes and work are added, and work that is alike
// (Work::alike) shares its sets of launches. Units with other calls form buckets of their own.
// Groups are in order of first occurrence.
std::vector<BucketWork> MergeUnits(std::span<const BucketWork> units);

}  // namespace legacy
