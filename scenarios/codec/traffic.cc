#include "scenarios/codec/traffic.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/parse.h"
#include "trainer/clock/transfers.h"

namespace legacy {
namespace {

using fabric::CollectiveKind;
using fabric::CollectiveSpec;
using fabric::Payload;

// Kinds that need nothing but the messages.
std::vector<CollectiveKind> Allowed() {
  using enum CollectiveKind;
  std::vector<CollectiveKind> kinds;
  for (const CollectiveKind kind : fabric::CollectiveKinds()) {
    const bool carries = fabric::CanCarry(kind, Payload::Sum) ||
                         fabric::CanCarry(kind, Payload::Concat) ||
                         fabric::CanCarry(kind, Payload::RequantisedSum) ||
                         fabric::CanCarry(kind, Payload::Broadcast);
    const bool alone = kind != HierarchicalAllReduce && kind != HierarchicalAllGather &&
                       kind != InNetworkAllReduce && kind != ShardedParameterServer;
    if (carries && alone) kinds.push_back(kind);
  }
  return kinds;
}

CollectiveKind ParseAllowed(const std::string& text) {
  std::vector<std::string> names;
  for (const CollectiveKind kind : Allowed()) {
    if (text == fabric::ToString(kind)) return kind;
    names.emplace_back(fabric::ToString(kind));
  }
  throw Error("--collective", text, Join(names, ", "));
}

double Mean(const std::vector<int64_t>& values) {
  const double sum = static_cast<double>(std::accumulate(values.begin(), values.end(), int64_t{0}));
  return sum / static_cast<double>(values.size());
}

}  // namespace

Collectives ParseCollectives(const std::string& text) {
  Collectives collectives;
  for (const std::string& name : SplitList(text)) {
    const CollectiveKind kind = ParseAllowed(name);
    if (fabric::CanCarry(kind, Payload::Sum)) collectives.sum = kind;
    if (fabric::CanCarry(kind, Payload::Concat)) collectives.concat = kind;
    if (fabric::CanCarry(kind, Payload::Broadcast)) collectives.broadcast = kind;
    if (fabric::CanCarry(kind, Payload::RequantisedSum)) collectives.requantised_sum = kind;
  }
  return collectives;
}

CollectiveSpec CollectiveOf(const Collectives& collectives, const CallWork& call,
                            int64_t elements) {
  CollectiveSpec spec;
  spec.root = call.root;
  spec.bytes = call.bytes;
  switch (PayloadOf(call)) {
    case Payload::Sum:
      spec.kind = collectives.sum;
      break;
    case Payload::Broadcast:
      spec.kind = collectives.broadcast;
      break;
    case Payload::RequantisedSum:
      spec.kind = collectives.requantised_sum;
      break;
    default:
      spec.kind = collectives.concat;
  }
  if (spec.kind == CollectiveKind::ParameterServer) {
    spec.pullBytes = PullBytes(call, elements);
  }
  if (spec.kind == CollectiveKind::ScatterReduceAllGather) {
    spec.sumBytes = {*std::ranges::max_element(call.bytes)};
  }
  return spec;
}

double CardBytes(const CollectiveSpec& spec) {
  return spec.bytes.size() < 2 ? 0 : Mean(fabric::BytesSent(spec));
}

double DenseCardBytes(int workers, int64_t elements) {
  CollectiveSpec ring;
  ring.bytes.assign(static_cast<size_t>(workers), static_cast<int64_t>(sizeof(float)) * elements);
  return CardBytes(ring);
}

}  // namespace legacy
