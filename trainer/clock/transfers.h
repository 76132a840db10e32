// Which way the collective calls of exchanges travel: a call's collective and reduction say what
// its messages need, the options which collective carries that. Every choice carries the same bytes
// to the same mean; only the time differs. Needs no LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "compress/exchange.h"
#include "ns3-module/fabric/collective/closed-form.h"
#include "ns3-module/fabric/collective/collective.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// Each collective among the workers, or all through parameter servers.
enum class Transfer : uint8_t { kPeers, kParameterServer, kShardedParameterServer };

// What workers pull from a parameter server after a collective call of concatenated (sparse)
// messages.
enum class Pull : uint8_t {
  kDense,  // 4 bytes for every element of the bucket
  kUnion,  // the messages themselves: sum of their bytes, at most the dense size
};

struct TransferOptions {
  Transfer transfer = Transfer::kPeers;
  Pull pull = Pull::kUnion;
  // Among the workers; none: for each collective call the one with the least closed form on `path`.
  std::optional<fabric::CollectiveAlgorithm> all_reduce =
      fabric::CollectiveAlgorithm::RingAllReduce;
  std::optional<fabric::CollectiveAlgorithm> all_gather =
      fabric::CollectiveAlgorithm::RingAllGather;
  int group = 1;    // hierarchical algorithms: consecutive workers
  int servers = 1;  // sharded parameter server
  // in-network: Placement::parents, and the endpoint of its first aggregator
  std::vector<int> parents = {};
  int first_aggregator = 0;
  fabric::UniformPath path = {};
  fabric::Transport transport = {};
};

// "collective", "parameter-server", "sharded-parameter-server"; "union", "dense". Throw Error
// otherwise.
Transfer ParseTransfer(std::string_view text);
Pull ParsePull(std::string_view text);

// "auto" (none) or an algorithm that carries collective calls of `collective` among workers. Throws
// Error naming `option`, what is allowed, and why what is not.
std::optional<fabric::CollectiveAlgorithm> ParseAlgorithm(std::string_view text,
                                                          std::string_view option,
                                                          Collective collective);

// What the network must do with a collective call's messages.
fabric::Payload PayloadOf(const CallWork& call);

// What every worker pulls from a parameter server after a collective call of `elements` dense
// elements: the sum, the message of the broadcast's root, or as `pull` says.
int64_t PullBytes(const CallWork& call, int64_t elements, Pull pull = Pull::kUnion);

// The collective of one collective call. Where not all workers take part (`partial`) those without
// a message add zeros to sums on the way, which keep their length. Throws Error where the chosen
// algorithm cannot carry it.
fabric::CollectiveSpec CollectiveOf(const TransferOptions& options, const BucketWork& bucket,
                                    const CallWork& call, bool partial);

// Payload bytes that leave a worker's NIC in the collective, mean over the workers.
double NicBytes(const fabric::CollectiveSpec& spec);

// The same of `elements` fp32 values that `workers` workers exchange by ring all-reduce.
double DenseNicBytes(int workers, int64_t elements);

}  // namespace legacy
