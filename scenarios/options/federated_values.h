// Texts of federated options stand for these values. Each is parsed when it is set, so that a
// mistake is found where it is written. What depends on several options is checked by ParsePlan and
// ValidateFederated.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "ns3-module/fabric/collective/collective.h"
#include "trainer/federated/aggregator.h"
#include "trainer/federated/uplink.h"

namespace legacy {

// Return what the text of an option stands for. Throw Error naming `key` and what is allowed.
//
// Return nothing for "": the option was not given.
std::optional<int64_t> ParseElements(const std::string& text, const std::string& key);
// Returns USD per GB there and back: "0.02" each way, or "0.02/0.09".
std::optional<std::array<double, 2>> ParsePrices(const std::string& text, const std::string& key);

// Returns the collective by which clients exchange updates; nothing for "server".
std::optional<fabric::CollectiveAlgorithm> ParseExchange(const std::string& text,
                                                         const std::string& key);

// An AsyncServer is an asynchronous server, whose versions and tasks are other options.
struct AsyncServer {
  std::optional<int> concurrency;  // tasks in flight; nothing: 100, or all clients where fewer
  int64_t buffer = 10;             // updates of a version
  int64_t max_staleness = 0;       // 0: no limit

  // Returns the tasks in flight among that many clients. Throws Error naming `key` where there are
  // more of them than clients.
  int64_t ConcurrencyAmong(int64_t clients, const std::string& key) const;
};
// Reads "sync", which is nothing, or "async:concurrency=100[,buffer=10,max-staleness=0]".
std::optional<AsyncServer> ParseServer(const std::string& text, const std::string& key);

// A PerRound is a number of updates, or, where that is 0, a share of all clients.
struct PerRound {
  int64_t updates = 0;
  double share = 0;
};
std::optional<PerRound> ParsePerRound(const std::string& text, const std::string& key);

// A RoundDeadline ends a round: at a time from its start, or at a factor of the median predicted
// time of its tasks.
struct RoundDeadline {
  TimeNs time = 0;
  double factor = 0;  // above 0: instead of the time
};
// Returns nothing for "none".
std::optional<RoundDeadline> ParseDeadline(const std::string& text, const std::string& key);

// Return true for the second of two words.
bool ParseShort(const std::string& text, const std::string& key);     // wait, skip
bool ParseRateOver(const std::string& text, const std::string& key);  // versions, steps
bool ParseDiverged(const std::string& text, const std::string& key);  // fail, drop

// Return nothing for "auto", which leaves it to the algorithm; else the weighting, and whether
// clients keep their optimizers.
std::optional<Weighting> ParseWeighting(const std::string& text, const std::string& key);
std::optional<bool> ParseClientState(const std::string& text, const std::string& key);
UplinkMemory ParseUplinkMemory(const std::string& text, const std::string& key);
BatchNormRule ParseBatchNorm(const std::string& text, const std::string& key);

// Splits "fedavg,fedbuff:k=10,alpha=0.5": a part "k=v" without a name belongs to the one before.
std::vector<std::string> ParseFederatedAlgorithms(const std::string& text, const std::string& key);

// Check texts that other parts read, as they need to know more: the clients, the seed, the model.
void CheckAlgorithm(const std::string& text, const std::string& key);
void CheckDownlink(const std::string& text, const std::string& key);
void CheckPartitionText(const std::string& text, const std::string& key);
void CheckAvailability(const std::string& text, const std::string& key);
void CheckDropout(const std::string& text, const std::string& key);
void CheckSelection(const std::string& text, const std::string& key);

// Returns the fidelity of a plan: one of the network simulations, or formula.
std::string ParsePlanFidelity(const std::string& text, const std::string& key);

}  // namespace legacy
