#include "compress/exchange.h"

#include <numeric>

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
