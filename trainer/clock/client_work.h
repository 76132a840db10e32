// Client work is what tasks of federated clients ask of devices and network, independent of both,
// as step work is of workers (step_work.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compress/work.h"
#include "ns3-module/fabric/tasks/server.h"

namespace legacy {

// What every local step does besides forward and backward pass.
struct LocalStepWork {
  std::vector<std::string> update_kernels;  // of all elements: the optimizer's
  WorkList corrections;                     // clipping, and what the algorithm adds
};

// A DeltaSize tells how long the messages of a delta are.
struct DeltaSize {
  int64_t whole = 0;  // bytes of y
  int64_t sent = 0;   // bytes of the messages of all versions up to this one
};

// A VersionWork is what all tasks of a version share.
struct VersionWork {
  int64_t version = 0;
  int64_t down_bytes = 0;  // on the first contact with a client
  int64_t up_bytes = fabric::kUnknownBytes;
  int64_t expected_up = 0;  // what parameters ask for, where it is not known
  WorkList encode;
  WorkList decode = {};                           // of one message of the downlink
  std::optional<DeltaSize> delta = std::nullopt;  // of a downlink of deltas

  // Returns the upload, or what is expected of it.
  int64_t AboutUp() const { return up_bytes < 0 ? expected_up : up_bytes; }
};

}  // namespace legacy
