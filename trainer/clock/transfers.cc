#include "trainer/clock/transfers.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"
#include "ns3-module/fabric/base/error.h"
#include "ns3-module/fabric/collective/alpha-beta.h"

namespace legacy {
namespace {

using fabric::CollectiveKind;
using fabric::CollectiveSpec;
using fabric::Payload;

constexpr int64_t kDenseBytes = 4;  // fp32

bool IsServer(CollectiveKind kind) {
  return kind == CollectiveKind::ParameterServer || kind == CollectiveKind::ShardedParameterServer;
}

std::vector<CollectiveKind> PeerKinds(Payload payload) {
  std::vector<CollectiveKind> kinds = fabric::KindsFor(payload);
  std::erase_if(kinds, IsServer);
  return kinds;
}

// In-network sums need switches that can: never chosen unasked.
std::vector<CollectiveKind> Candidates(Payload payload, const TransferOptions& options) {
  std::vector<CollectiveKind> kinds = PeerKinds(payload);
  std::erase_if(kinds, [&](CollectiveKind kind) {
    const bool hierarchical = kind == CollectiveKind::HierarchicalAllReduce ||
                              kind == CollectiveKind::HierarchicalAllGather;
    return kind == CollectiveKind::InNetworkAllReduce || (hierarchical && options.group < 2);
  });
  return kinds;
}

CollectiveKind PeerKind(const TransferOptions& options, const CollectiveSpec& spec,
                        Primitive primitive, Payload payload) {
  if (primitive == Primitive::kBroadcast) return CollectiveKind::Broadcast;
  // Only one kind's owners quantise again what they summed.
  if (payload == Payload::RequantisedSum) return CollectiveKind::ScatterReduceAllGather;
  const std::optional<CollectiveKind> chosen =
      primitive == Primitive::kAllReduce ? options.all_reduce : options.all_gather;
  if (chosen) return *chosen;
  return FastestCollective(Candidates(payload, options), spec, options.path, options.transport)
      .kind;
}

}  // namespace

Transfer ParseTransfer(std::string_view text) {
  if (text == "collective") return Transfer::kPeers;
  if (text == "parameter-server") return Transfer::kParameterServer;
  if (text == "sharded-parameter-server") return Transfer::kShardedParameterServer;
  throw Error("transfer", std::string(text),
              "collective, parameter-server, sharded-parameter-server");
}

Pull ParsePull(std::string_view text) {
  if (text == "dense") return Pull::kDense;
  if (text == "union") return Pull::kUnion;
  throw Error("pull", std::string(text), "dense, union");
}

std::optional<CollectiveKind> ParseKind(std::string_view text, std::string_view option,
                                        Primitive primitive) {
  if (text == "auto") return std::nullopt;
  const Payload payload = primitive == Primitive::kAllReduce ? Payload::Sum : Payload::Concat;
  std::string allowed = "auto";
  for (const CollectiveKind kind : PeerKinds(payload)) {
    if (text == fabric::ToString(kind)) return kind;
    allowed += std::string(", ") + fabric::ToString(kind);
  }
  for (const CollectiveKind kind : fabric::CollectiveKinds()) {
    if (text != fabric::ToString(kind)) continue;
    if (IsServer(kind)) {
      allowed += "; servers are chosen by network.aggregation";
    } else if (fabric::CanCarry(kind, Payload::SparseSum)) {
      allowed +=
          "; its sums change what is trained, which takes codecs that can add their messages: "
          "none does";
    } else if (fabric::CanCarry(kind, Payload::RequantisedSum)) {
      allowed +=
          "; its sums change what is trained: it carries schemes that quantise sums again "
          "(reduction=requantise), and those alone";
    } else {
      allowed += std::string("; it carries no ") + fabric::ToString(payload);
    }
  }
  throw Error(std::string(option), std::string(text), allowed);
}

Payload PayloadOf(const CallWork& call) {
  if (call.primitive == Primitive::kBroadcast) return Payload::Broadcast;
  if (call.reduction == Reduction::kRequantisedSum) return Payload::RequantisedSum;
  return call.primitive == Primitive::kAllReduce ? Payload::Sum : Payload::Concat;
}

int64_t PullBytes(const CallWork& call, int64_t elements, Pull pull) {
  if (call.primitive == Primitive::kBroadcast) return call.bytes[call.root];
  if (call.primitive == Primitive::kAllReduce) return *std::ranges::max_element(call.bytes);
  const int64_t dense = kDenseBytes * elements;
  const int64_t sum = std::accumulate(call.bytes.begin(), call.bytes.end(), int64_t{0});
  return pull == Pull::kDense ? dense : std::min(sum, dense);
}

CollectiveSpec CollectiveOf(const TransferOptions& options, const BucketWork& bucket,
                            const CallWork& call, bool partial) {
  CollectiveSpec spec;
  spec.root = call.root;
  spec.bytes = call.bytes;
  if (options.transfer != Transfer::kPeers) {
    const bool sharded = options.transfer == Transfer::kShardedParameterServer;
    spec.kind = sharded ? CollectiveKind::ShardedParameterServer : CollectiveKind::ParameterServer;
    spec.servers = sharded ? options.servers : 1;
    spec.pullBytes = PullBytes(call, bucket.elements, options.pull);
    return spec;
  }
  if (partial && call.primitive == Primitive::kAllReduce) {
    std::fill(spec.bytes.begin(), spec.bytes.end(),
              *std::max_element(spec.bytes.begin(), spec.bytes.end()));
  }
  spec.group = options.group;
  spec.parents = options.parents;
  spec.firstAggregator = options.first_aggregator;
  const Payload payload = PayloadOf(call);
  if (payload == Payload::RequantisedSum) {
    spec.sumBytes = {*std::max_element(spec.bytes.begin(), spec.bytes.end())};
  }
  spec.kind = PeerKind(options, spec, call.primitive, payload);
  try {
    fabric::CheckCarries(spec.kind, payload, std::string("a ") + fabric::ToString(payload));
  } catch (const fabric::Error& error) {
    throw Error(error.what());
  }
  return spec;
}

}  // namespace legacy
