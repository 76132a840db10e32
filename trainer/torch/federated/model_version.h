// What the clients of a federated training start from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/state.h"
#include "trainer/federated/downlink.h"

namespace legacy {

// A ModelVersion is what clients start from.
struct ModelVersion {
  int64_t number = 0;
  std::vector<float> weights;  // as clients decode them
  std::vector<float> buffers;
  std::vector<float> downlink;     // second vector of the algorithm; empty: it has none
  std::vector<double> parameters;  // of the uplink, by unit
  int64_t announcement_bytes = 0;  // of the policy, on the way down
  std::optional<DeltaSize> delta;  // of the downlink
};

// Appends a version.
void SaveVersion(const ModelVersion& version, StateWriter& out);
// Reads a version whose vectors are as long as those of `like`. Throws Error on others.
std::shared_ptr<ModelVersion> LoadVersion(const ModelVersion& like, StateReader& in);

}  // namespace legacy
