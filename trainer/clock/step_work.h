// What one synchronous step asks of devices and network, independent of both: which layers travel
// together, in which collective calls, the length of every worker's message and the device work
// around it. The clock turns it into times for one profile and one set of collectives; a recorded
// training is a list of these values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/exchange.h"

namespace legacy {

// One collective call of everything that travels together.
struct CallWork {
  Collective collective = Collective::kAllGather;
  Reduction reduction = Reduction::kConcat;
  int root = 0;                // of a broadcast
  std::vector<int64_t> bytes;  // message bytes of each worker; 0 where a worker sends nothing
  std::vector<Work> encode;    // at each worker before the call, one entry a kernel
  std::vector<Work> decode;    // at each worker after the call, for all messages together
};

// An exchange's collective call whose messages are yet to come: bytes are 0.
CallWork WorkOf(const CollectiveCall& call, int workers);

struct BucketWork {
  std::vector<int> layers;  // positions in the model's parameter order; order of no meaning
  int64_t elements = 0;     // of the dense gradient of these layers
  std::vector<CallWork> calls;
};

inline constexpr int64_t kMostRecordedWorkers = 65536;  // what readers of recordings allow

struct StepWork {
  int64_t step = 0;
  int workers = 0;
  int64_t batch_size = 0;  // samples of each worker
  // Of each worker on its whole gradient, before anything is encoded (clipping to a norm): with
  // any, encoding starts when the backward pass is over.
  std::vector<Work> whole_gradient = {};
  std::vector<BucketWork> buckets = {};  // in the order in which the backward pass completes them
  // Workers whose gradients count, ascending; empty: all. The others send nothing.
  std::vector<int> active_workers = {};

  bool TakesPart(int worker) const;
  int64_t ActiveWorkers() const;  // how many take part
  // Message bytes of one worker over all buckets and collective calls: the payload, before
  // collectives forward it.
  int64_t MessageBytes(int worker) const;
};

// Units of one bucket, merged: units whose collective calls have the same collectives, reductions
// and roots travel together (bytes and work added; what is alike shares its sets of launches).
// Units with another structure form a bucket of their own; groups are in order of first occurrence.
std::vector<BucketWork> MergeUnits(std::span<const BucketWork> units);

}  // namespace legacy
