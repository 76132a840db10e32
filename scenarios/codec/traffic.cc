#include "scenarios/codec/traffic.h"

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"
#include "trainer/clock/transfers.h"

namespace legacy {
namespace {

using fabric::CollectiveAlgorithm;
using fabric::CollectiveSpec;
using fabric::Payload;

// Returns the algorithms that need nothing but the messages.
std::vector<CollectiveAlgorithm> Allowed() {
  using enum CollectiveAlgorithm;
  std::vector<CollectiveAlgorithm> algorithms;
  for (const CollectiveAlgorithm algorithm : fabric::CollectiveAlgorithms()) {
    const bool carries = fabric::CanCarry(algorithm, Payload::Sum) ||
                         fabric::CanCarry(algorithm, Payload::Concat) ||
                         fabric::CanCarry(algorithm, Payload::RequantisedSum) ||
                         fabric::CanCarry(algorithm, Payload::Broadcast);
    const bool alone = algorithm != HierarchicalAllReduce && algorithm != HierarchicalAllGather &&
                       algorithm != InNetworkAllReduce && algorithm != ShardedParameterServer;
    if (carries && alone) algorithms.push_back(algorithm);
  }
  return algorithms;
}

CollectiveAlgorithm ParseAllowed(const std::string& text) {
  std::vector<std::string> names;
  for (const CollectiveAlgorithm algorithm : Allowed()) {
    if (text == fabric::ToString(algorithm)) return algorithm;
    names.emplace_back(fabric::ToString(algorithm));
  }
  throw Error("--collective", text, Join(names, ", "));
}

}  // namespace

Collectives ParseCollectives(const std::string& text) {
  Collectives collectives;
  for (const std::string& name : SplitList(text)) {
    const CollectiveAlgorithm algorithm = ParseAllowed(name);
    if (fabric::CanCarry(algorithm, Payload::Sum)) collectives.sum = algorithm;
    if (fabric::CanCarry(algorithm, Payload::Concat)) collectives.concat = algorithm;
    if (fabric::CanCarry(algorithm, Payload::Broadcast)) collectives.broadcast = algorithm;
    if (fabric::CanCarry(algorithm, Payload::RequantisedSum))
      collectives.requantised_sum = algorithm;
  }
  return collectives;
}

CollectiveSpec CollectiveOf(const Collectives& collectives, const SentCall& call,
                            int64_t elements) {
  CollectiveSpec spec;
  spec.root = call.root;
  spec.bytes = call.bytes;
  switch (PayloadOf(call)) {
    case Payload::Sum:
      spec.algorithm = collectives.sum;
      break;
    case Payload::Broadcast:
      spec.algorithm = collectives.broadcast;
      break;
    case Payload::RequantisedSum:
      spec.algorithm = collectives.requantised_sum;
      break;
    default:
      spec.algorithm = collectives.concat;
  }
  if (spec.algorithm == CollectiveAlgorithm::ParameterServer) {
    spec.pullBytes = PullBytes(call, elements);
  }
  if (spec.algorithm == CollectiveAlgorithm::ScatterReduceAllGather) {
    spec.sumBytes = {*std::ranges::max_element(call.bytes)};
  }
  return spec;
}

}  // namespace legacy
