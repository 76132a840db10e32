#include "trainer/clock/transfers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "base/error.h"
#include "base/parse.h"
#include "ns3-module/fabric/collective/alpha-beta.h"

namespace legacy {
namespace {

using fabric::CollectiveAlgorithm;
using fabric::CollectiveSpec;
using fabric::Payload;

constexpr int64_t kDenseBytes = 4;  // fp32

// Returns the algorithms among which `auto` chooses. Sums in the network need switches that support
// them, so they are used only on request.
std::vector<CollectiveAlgorithm> Candidates(Payload payload, const TransferOptions& options,
                                            size_t workers) {
  std::vector<CollectiveAlgorithm> algorithms = PeerAlgorithms(payload);
  std::erase_if(algorithms, [&](CollectiveAlgorithm algorithm) {
    const bool hierarchical = algorithm == CollectiveAlgorithm::HierarchicalAllReduce ||
                              algorithm == CollectiveAlgorithm::HierarchicalAllGather;
    return fabric::AggregationOf(algorithm) != fabric::Aggregation::None ||
           !fabric::TakesWorkers(algorithm, static_cast<int64_t>(workers)) ||
           (hierarchical && options.group < 2);
  });
  return algorithms;
}

CollectiveAlgorithm PeerAlgorithm(const TransferOptions& options, const CollectiveSpec& spec,
                                  Collective collective, Payload payload) {
  if (collective == Collective::kBroadcast) return CollectiveAlgorithm::Broadcast;
  if (collective == Collective::kAllToAll) {
    return spec.pairBytes.empty() ? CollectiveAlgorithm::AllToAll : CollectiveAlgorithm::AllToAllV;
  }
  if (payload == Payload::BlockSum) return CollectiveAlgorithm::BlockSparse;
  // Only in this algorithm do the owners of shards quantise their sums again.
  if (payload == Payload::RequantisedSum) return CollectiveAlgorithm::ScatterReduceAllGather;
  // The scheme says along which way its sums go.
  if (payload == Payload::HopSum) return spec.algorithm;
  const std::optional<CollectiveAlgorithm> chosen =
      collective == Collective::kAllReduce ? options.all_reduce : options.all_gather;
  if (chosen) return *chosen;
  if (!options.channels.protocol) {
    CollectiveSpec many = spec;
    many.channels = options.channels.channels;
    const auto choice = fabric::ChooseAsNccl(
        fabric::NcclAlgorithms(payload, !options.parents.empty()), many, options.channels.links);
    if (choice) return choice->algorithm;
  }
  return FastestCollective(Candidates(payload, options, spec.bytes.size()), spec, options.path,
                           options.transport, options.channels)
      .algorithm;
}

// Returns true for algorithms that carry calls of exchanges and need only the messages.
bool CarriesAlone(CollectiveAlgorithm algorithm) {
  using enum CollectiveAlgorithm;
  const bool carries = fabric::CanCarry(algorithm, Payload::Sum) ||
                       fabric::CanCarry(algorithm, Payload::Concat) ||
                       fabric::CanCarry(algorithm, Payload::RequantisedSum) ||
                       fabric::CanCarry(algorithm, Payload::HopSum) ||
                       fabric::CanCarry(algorithm, Payload::BlockSum) ||
                       fabric::CanCarry(algorithm, Payload::Broadcast);
  return carries && algorithm != HierarchicalAllReduce && algorithm != HierarchicalAllGather &&
         fabric::AggregationOf(algorithm) == fabric::Aggregation::None &&
         algorithm != ShardedParameterServer;
}

// Returns what the network must do with a collective call's messages.
Payload PayloadOf(const SentCall& call) {
  if (call.collective == Collective::kBroadcast) return Payload::Broadcast;
  if (call.collective == Collective::kAllToAll) return Payload::Exchange;
  if (call.collective == Collective::kBlockSparse) return Payload::BlockSum;
  if (call.reduction == Reduction::kRequantisedSum) return Payload::RequantisedSum;
  if (call.reduction == Reduction::kHops) return Payload::HopSum;
  return call.collective == Collective::kAllReduce ? Payload::Sum : Payload::Concat;
}

// Lets a collective carry a sum by hops; `scatters` if each worker owns a piece of it.
void SetHops(const std::optional<Hops>& hops, bool scatters, CollectiveSpec& spec) {
  using enum CollectiveAlgorithm;
  const bool ring = !hops || hops->order == HopOrder::kRing;
  spec.algorithm = ring ? (scatters ? HopRingReduceScatter : HopRingAllReduce)
                        : (scatters ? HopHalvingReduceScatter : HopButterflyAllReduce);
  if (!hops) return;
  for (const HopSlice& slice : hops->slices) spec.slices.push_back({slice.payload, slice.headers});
}

// Returns the bytes that every worker pulls from a parameter server after a collective call of
// `elements` dense elements: the sum, the message of the broadcast's root, or the number given by
// `pull`.
int64_t PullBytes(const SentCall& call, int64_t elements, Pull pull) {
  if (call.collective == Collective::kBroadcast) return call.bytes[call.root];
  if (call.collective == Collective::kAllReduce) return *std::ranges::max_element(call.bytes);
  const int64_t dense = kDenseBytes * elements;
  const int64_t sum = std::accumulate(call.bytes.begin(), call.bytes.end(), int64_t{0});
  return pull == Pull::kDense ? dense : std::min(sum, dense);
}

// Returns the collective of blocks: parameter servers aggregate, or else each worker does.
CollectiveSpec BlocksOf(const TransferOptions& options, const SentCall& call, int64_t elements) {
  CollectiveSpec spec;
  spec.algorithm = CollectiveAlgorithm::BlockSparse;
  spec.bytes = call.bytes;
  spec.pullBytes = call.pull.value_or(PullBytes(call, elements, options.pull));
  spec.servers = options.transfer == Transfer::kPeers             ? 0
                 : options.transfer == Transfer::kParameterServer ? 1
                                                                  : options.servers;
  if (!call.blocks) return spec;
  spec.slots = call.blocks->slots;
  spec.blockBytes = call.blocks->bytes;
  return spec;
}

// Returns the slices of a call that servers answer with what they have compressed. Throws Error
// unless there are as many servers as slices.
std::vector<fabric::Shard> ShardsOf(const SentCall& call, int servers) {
  const int wanted = std::max(1, static_cast<int>(call.served.size()));
  if (servers != wanted) {
    const char* const have[] = {"collective", "parameter-server"};
    throw Error("network.aggregation",
                servers > 1 ? std::to_string(servers) + " parameter servers" : have[servers],
                (wanted == 1 ? "parameter-server"
                             : "sharded-parameter-server with " + std::to_string(wanted) +
                                   " servers (network.servers)") +
                    std::string(", as the server compresses what it returns (where=server, "
                                "where=both)"));
  }
  std::vector<fabric::Shard> shards;
  for (const ServedSlice& slice : call.served) shards.push_back({slice.sent, slice.answered});
  return shards;
}

}  // namespace

std::vector<CollectiveAlgorithm> PeerAlgorithms(Payload payload) {
  std::vector<CollectiveAlgorithm> algorithms = fabric::AlgorithmsFor(payload);
  std::erase_if(algorithms, fabric::IsServer);
  return algorithms;
}

Transfer ParseTransfer(const std::string& text, const std::string& key) {
  constexpr std::array kTexts = {"collective", "parameter-server", "sharded-parameter-server"};
  return ParseChoice<Transfer>(text, key, kTexts);
}

Pull ParsePull(const std::string& text, const std::string& key) {
  constexpr std::array kTexts = {"dense", "union"};
  return ParseChoice<Pull>(text, key, kTexts);
}

std::optional<CollectiveAlgorithm> ParseAlgorithm(std::string_view text, std::string_view option,
                                                  Collective collective) {
  if (text == "auto") return std::nullopt;
  const Payload payload = collective == Collective::kAllReduce ? Payload::Sum : Payload::Concat;
  std::string allowed = "auto";
  for (const CollectiveAlgorithm algorithm : PeerAlgorithms(payload)) {
    if (text == fabric::ToString(algorithm)) return algorithm;
    allowed += std::string(", ") + fabric::ToString(algorithm);
  }
  for (const CollectiveAlgorithm algorithm : fabric::CollectiveAlgorithms()) {
    if (text != fabric::ToString(algorithm)) continue;
    if (fabric::IsServer(algorithm)) {
      allowed += "; servers are chosen by network.aggregation";
    } else if (fabric::CanCarry(algorithm, Payload::SparseSum)) {
      allowed +=
          "; its sums change what is trained, and it needs codecs whose messages can be added, of "
          "which there are none";
    } else if (fabric::CanCarry(algorithm, Payload::HopSum)) {
      allowed +=
          "; its sums change what is trained: it carries only schemes that encode sums at every "
          "hop "
          "(reduction=ring, reduction=butterfly)";
    } else if (fabric::CanCarry(algorithm, Payload::BlockSum)) {
      allowed += "; it carries only schemes that send blocks (omnireduce), and all of these";
    } else if (fabric::CanCarry(algorithm, Payload::RequantisedSum)) {
      allowed +=
          "; its sums change what is trained: it carries only schemes that quantise sums again "
          "(reduction=requantise)";
    } else {
      allowed += std::string("; it carries no ") + fabric::ToString(payload);
    }
  }
  throw Error(std::string(option), std::string(text), allowed);
}

TransferOptions ParseAlgorithms(const std::string& text, const std::string& option) {
  std::vector<std::string> names;
  for (const CollectiveAlgorithm algorithm : fabric::CollectiveAlgorithms()) {
    if (CarriesAlone(algorithm)) names.emplace_back(fabric::ToString(algorithm));
  }
  TransferOptions options;
  const std::vector<std::string> list = SplitList(text);
  for (const std::string& name : list) {
    ParseChoice(name, option, names);
    const CollectiveAlgorithm algorithm = fabric::ParseCollective(name);
    if (algorithm == CollectiveAlgorithm::ParameterServer) {
      if (list.size() > 1) throw Error(option, text, "parameter-server alone, or other algorithms");
      options.transfer = Transfer::kParameterServer;
    } else if (fabric::CanCarry(algorithm, Payload::Sum)) {
      options.all_reduce = algorithm;
    } else if (fabric::CanCarry(algorithm, Payload::Concat)) {
      options.all_gather = algorithm;
    }  // the others carry the one payload that nothing else does
  }
  return options;
}

CollectiveSpec CollectiveOf(const TransferOptions& options, const SentCall& call, int64_t elements,
                            bool partial) {
  CollectiveSpec spec;
  spec.root = call.root;
  spec.bytes = call.bytes;
  if (call.owned) {
    throw Error(
        "clock.sharding", "none",
        "one with " + std::to_string(call.owned->owners) + " owners, to whom these messages go");
  }
  const Payload payload = PayloadOf(call);
  if (payload == Payload::BlockSum) return BlocksOf(options, call, elements);
  if (options.transfer != Transfer::kPeers) {
    if (payload == Payload::HopSum) {
      throw Error("network.aggregation", "parameter-server",
                  "collective; sums that are encoded at every hop have no server");
    }
    if (call.collective == Collective::kAllToAll) {
      throw Error("network.aggregation", "parameter-server",
                  "collective, as each worker has another message for each of the others");
    }
    const bool sharded = options.transfer == Transfer::kShardedParameterServer;
    spec.algorithm = sharded ? CollectiveAlgorithm::ShardedParameterServer
                             : CollectiveAlgorithm::ParameterServer;
    spec.servers = sharded ? options.servers : 1;
    if (call.reduction == Reduction::kServed) spec.shards = ShardsOf(call, spec.servers);
    spec.pullBytes = call.pull.value_or(PullBytes(call, elements, options.pull));
    return spec;
  }
  if (call.reduction == Reduction::kServed) ShardsOf(call, 0);  // throws
  if (partial && call.collective == Collective::kAllReduce) {
    std::fill(spec.bytes.begin(), spec.bytes.end(),
              *std::max_element(spec.bytes.begin(), spec.bytes.end()));
  }
  spec.pairBytes = call.pair_bytes;
  spec.group = options.group;
  spec.parents = options.parents;
  spec.firstAggregator = options.first_aggregator;
  if (payload == Payload::HopSum) SetHops(call.hops, false, spec);
  if (payload == Payload::RequantisedSum) {
    spec.sumBytes = {*std::max_element(spec.bytes.begin(), spec.bytes.end())};
  }
  spec.algorithm = PeerAlgorithm(options, spec, call.collective, payload);
  SetChannels(spec, options.channels);
  fabric::CheckCarries(spec.algorithm, payload, std::string("a ") + fabric::ToString(payload));
  return spec;
}

namespace {

void CheckPeers(const TransferOptions& options) {
  if (options.transfer == Transfer::kPeers) return;
  throw Error("network.aggregation", "parameter servers",
              "collective, as workers own shards of weights and sums themselves");
}

}  // namespace

CollectiveSpec GroupCollectiveOf(const TransferOptions& options, Payload payload,
                                 std::vector<int64_t> bytes, std::vector<int> members) {
  CheckPeers(options);
  CollectiveSpec spec;
  spec.bytes = std::move(bytes);
  // Members of one node follow each other.
  const int node = options.group;
  const auto in_first = std::ranges::count_if(
      members, [&](int member) { return member / node == members.front() / node; });
  spec.group = std::max(1, static_cast<int>(in_first));
  spec.members = std::move(members);
  if (payload == Payload::ScatteredSum) {
    spec.algorithm = options.all_reduce == CollectiveAlgorithm::HalvingDoublingAllReduce
                         ? CollectiveAlgorithm::HalvingReduceScatter
                         : CollectiveAlgorithm::RingReduceScatter;
  } else {
    TransferOptions inside = options;
    inside.group = spec.group;
    spec.algorithm = PeerAlgorithm(
        inside, spec, payload == Payload::Sum ? Collective::kAllReduce : Collective::kAllGather,
        payload);
  }
  fabric::SetChannels(spec, options.channels);
  fabric::CheckCarries(spec.algorithm, payload, std::string("a ") + fabric::ToString(payload));
  return spec;
}

CollectiveSpec ExchangeAmong(const TransferOptions& options, std::vector<int64_t> pairs,
                             std::vector<int> members) {
  CheckPeers(options);
  CollectiveSpec spec;
  const auto count = static_cast<size_t>(std::llround(std::sqrt(pairs.size())));
  for (size_t s = 0; s < count; ++s) {
    const auto row = pairs.begin() + static_cast<std::ptrdiff_t>(s * count);
    spec.bytes.push_back(
        std::accumulate(row, row + static_cast<std::ptrdiff_t>(count), int64_t{0}));
  }
  const bool equal = std::ranges::adjacent_find(pairs, std::not_equal_to()) == pairs.end();
  if (!equal) spec.pairBytes = std::move(pairs);
  spec.algorithm = equal ? CollectiveAlgorithm::AllToAll : CollectiveAlgorithm::AllToAllV;
  spec.members = std::move(members);
  fabric::SetChannels(spec, options.channels);
  return spec;
}

CollectiveSpec HopsToOwners(const TransferOptions& options, const Hops& hops, int count,
                            int64_t bytes, std::vector<int> members) {
  CheckPeers(options);
  CollectiveSpec spec;
  spec.bytes.assign(static_cast<size_t>(count), bytes);
  spec.members = std::move(members);
  SetHops(hops, true, spec);
  return spec;
}

double CallSeconds(const TransferOptions& options, const CollectiveCall& call, int64_t elements,
                   std::span<const int64_t> bytes, double latency_seconds,
                   double bytes_per_second) {
  SentCall sent = Unsent(call, static_cast<int>(bytes.size()));
  sent.bytes.assign(bytes.begin(), bytes.end());
  return fabric::AlphaBetaSeconds(CollectiveOf(options, sent, elements), latency_seconds,
                                  bytes_per_second);
}

double NicBytes(const CollectiveSpec& spec) {
  const std::vector<int64_t> sent = fabric::BytesSent(spec);
  const auto sum = static_cast<double>(std::accumulate(sent.begin(), sent.end(), int64_t{0}));
  return sum / static_cast<double>(sent.size());
}

double DenseNicBytes(int workers, int64_t elements) {
  CollectiveSpec ring;
  ring.bytes.assign(static_cast<size_t>(workers), static_cast<int64_t>(sizeof(float)) * elements);
  return NicBytes(ring);
}

}  // namespace legacy
