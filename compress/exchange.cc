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
  if (divided && (parts.size() != active.size() ||
                  std::accumulate(parts.begin(), parts.end(), int64_t{0}) != bytes)) {
    throw Error("parts of a message: they do not add up to its " + std::to_string(bytes) +
                " bytes for " + std::to_string(active.size()) + " workers");
  }
  call.bytes[static_cast<size_t>(worker)] = bytes;
  if (!divided) return;
  const size_t workers = call.bytes.size();
  call.pair_bytes.resize(workers * workers);
  for (size_t i = 0; i < active.size(); ++i) {
    call.pair_bytes[static_cast<size_t>(worker) * workers + static_cast<size_t>(active[i])] +=
        parts[i];
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
