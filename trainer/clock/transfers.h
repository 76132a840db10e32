// Transfers say which algorithms carry the collective calls of exchanges: a call's collective and
// reduction say what its messages need, and the options choose the algorithm. Every choice carries
// the same bytes to the same mean; only the time differs. This needs no LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compress/exchange.h"
#include "ns3-module/fabric/collective/closed-form.h"
#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/collective/tuning.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// A Transfer says whether collectives run among the workers, or through parameter servers.
enum class Transfer : uint8_t { kPeers, kParameterServer, kShardedParameterServer };

// A Pull says what workers pull from a parameter server after a collective call of concatenated
// (sparse) messages.
enum class Pull : uint8_t {
  kDense,  // 4 bytes for every element of the bucket
  kUnion,  // the messages themselves: sum of their bytes, at most the dense size
};

// TransferOptions choose the algorithms.
struct TransferOptions {
  Transfer transfer = Transfer::kPeers;
  Pull pull = Pull::kUnion;
  // Algorithms among the workers. nullopt: each collective call takes the algorithm with the
  // shortest closed form on `path`; where the protocol is NCCL's choice too, both are.
  std::optional<fabric::CollectiveAlgorithm> all_reduce =
      fabric::CollectiveAlgorithm::RingAllReduce;
  std::optional<fabric::CollectiveAlgorithm> all_gather =
      fabric::CollectiveAlgorithm::RingAllGather;
  // Workers of a group in hierarchical algorithms, and of a node in rings of several channels; they
  // are consecutive.
  int group = 1;
  fabric::ChannelOptions channels = {};  // of algorithms that take several, or a protocol
  int servers = 1;                       // servers of a sharded parameter server
  // In-network reduction, NVLS: Placement::parents, and the endpoint of its first aggregator.
  std::vector<int> parents = {};
  int first_aggregator = 0;
  fabric::UniformPath path = {};
  fabric::Transport transport = {};
  double contention = 0;  // StepTraffic::contention
};

// Return the transfer ("collective", "parameter-server", "sharded-parameter-server") and the pull
// ("union", "dense") of that name. Throw Error naming `key` on any other text.
Transfer ParseTransfer(const std::string& text, const std::string& key);
Pull ParsePull(const std::string& text, const std::string& key);

// Returns the algorithms that carry the payload without a server, in the order of the fabric's
// table.
std::vector<fabric::CollectiveAlgorithm> PeerAlgorithms(fabric::Payload payload);

// Returns an algorithm that carries collective calls of `collective` among workers, or nothing for
// "auto". Throws Error naming `option`, what is allowed, and why the text is not.
std::optional<fabric::CollectiveAlgorithm> ParseAlgorithm(std::string_view text,
                                                          std::string_view option,
                                                          Collective collective);

// Reads a list of algorithms, each of which carries the collective calls that it can; the others
// keep the defaults of TransferOptions. A parameter server carries all calls, so it must be the
// only one in the list. Throws Error naming `option` for algorithms that carry no call here, or
// that need more than messages (groups, switches that add, shards).
TransferOptions ParseAlgorithms(const std::string& text, const std::string& option);

// Returns the fabric's collective for one call, of a gradient of `elements` values. Where not all
// workers are active (`partial`), those without a message add zeros to sums on the way, which keep
// their length. Throws Error where the chosen algorithm cannot carry the call.
fabric::CollectiveSpec CollectiveOf(const TransferOptions& options, const SentCall& call,
                                    int64_t elements, bool partial = false);

// Returns the collective among `members` in which member i has `bytes[i]`: of a concatenation, of a
// sum, or of a sum whose blocks are scattered. It has the algorithms of such calls among all
// workers; a scattered sum is a ring, or recursive halving where sums are. Throws Error where a
// server aggregates.
fabric::CollectiveSpec GroupCollectiveOf(const TransferOptions& options, fabric::Payload payload,
                                         std::vector<int64_t> bytes, std::vector<int> members);

// Returns the all-to-all among `members` (empty: all) in which member s sends `pairs`[s n + d]
// bytes to member d, of n. Throws Error where a server aggregates.
fabric::CollectiveSpec ExchangeAmong(const TransferOptions& options, std::vector<int64_t> pairs,
                                     std::vector<int> members);

// Returns the reduce-scatter by hops among `members` (empty: all `count`), of which member j owns
// piece j; `bytes` is the length of a member's message. Nobody has computed anything in it. Throws
// Error where a server aggregates.
fabric::CollectiveSpec HopsToOwners(const TransferOptions& options, const Hops& hops, int count,
                                    int64_t bytes, std::vector<int> members);

// Returns the seconds that such a call takes by the alpha-beta model, if worker i sends `bytes[i]`.
double CallSeconds(const TransferOptions& options, const CollectiveCall& call, int64_t elements,
                   std::span<const int64_t> bytes, double latency_seconds, double bytes_per_second);

// Returns the payload bytes that leave a worker's NIC in the collective, as the mean over the
// workers.
double NicBytes(const fabric::CollectiveSpec& spec);

// Returns NicBytes of `elements` fp32 values that `workers` workers exchange by ring all-reduce.
double DenseNicBytes(int workers, int64_t elements);

}  // namespace legacy
