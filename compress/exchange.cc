#include "compress/exchange.h"

#include <numeric>
#include <string>

#include "base/error.h"

namespace legacy {

SentCall Unsent(const CollectiveCall& call, int workers) {
  SentCall sent{call, std::vector<int64_t>(static_cast<size_t>(workers))};
  sent.encode.clear();
  sent.decode.clear();
  AddWork(call.encode, sent.encode);
  AddWork(call.decode, sent.decode);
  sent.serve.clear();
  AddWork(call.serve, sent.serve);
  return sent;
}

void SetSent(int worker, int64_t bytes, std::span<const int64_t> parts, std::span<const int> active,
             SentCall& call) {
  const bool divided = call.collective == Collective::kAllToAll && !parts.empty();
  const size_t receivers = call.owned ? static_cast<size_t>(call.owned->owners) : active.size();
  if (divided && (parts.size() != receivers ||
                  std::accumulate(parts.begin(), parts.end(), int64_t{0}) != bytes)) {
    throw Error("parts of a message: they do not add up to its " + std::to_string(bytes) +
                " bytes for " + std::to_string(receivers) +
                (call.owned ? " owners of slices" : " workers"));
  }
  call.bytes[static_cast<size_t>(worker)] = bytes;
  if (!divided) return;
  const size_t workers = call.bytes.size();
  if (call.owned && workers % receivers != 0) {
    throw Error("owners of slices", std::to_string(receivers),
                "a divisor of the " + std::to_string(workers) + " workers");
  }
  call.pair_bytes.resize(workers * workers);
  const auto sender = static_cast<size_t>(worker);
  for (size_t i = 0; i < receivers; ++i) {
    const size_t receiver =
        call.owned ? sender - sender % receivers + i : static_cast<size_t>(active[i]);
    call.pair_bytes[sender * workers + receiver] += parts[i];
  }
}

std::vector<int> StepInfo::ActiveWorkers(int workers) const {
  if (!active_workers.empty()) return active_workers;
  std::vector<int> all(static_cast<size_t>(workers));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Probe Exchange::Measure(int, std::span<const float>) {
  throw Error("scheme: it takes no candidates for a policy to choose from within a step");
}

void Exchange::Choose(size_t) {
  throw Error("scheme: it takes no candidates for a policy to choose from within a step");
}

}  // namespace legacy
