// A plan without a server: in each round all clients work and then exchange their updates by a
// collective. The next round begins when all have everything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "scenarios/federated/exchange_network.h"
#include "scenarios/federated/plan.h"

namespace legacy {

// An ExchangeWorkload says what clients do before and in each exchange.
class ExchangeWorkload {
 public:
  virtual ~ExchangeWorkload() = default;
  // Returns the number of exchanges of a round, each of which begins when the one before has ended.
  virtual int Exchanges() const { return 1; }
  // Returns what the next of them asks of devices and network, by rank; valid until the next call.
  virtual const fabric::StepTraffic& Next() = 0;
  // Hears of its end, at `start` + timing.total.
  virtual void Timed(const fabric::StepTiming& /*timing*/, TimeNs /*start*/) {}
  // Hears of the end of the round.
  virtual void Ended(const PlannedRound& /*round*/) {}
};

// Runs rounds of a workload, as RunPlan does. Rounds have counted tasks of all clients; bytes and
// USD of uploads are those that clients send, and downloads have none. Of Plan::exchange, the times
// of synchronisation are set, and hops and bound of the last round.
Plan RunExchange(const PlanRequest& request, const ExchangeNetwork& network, int64_t versions,
                 ExchangeWorkload& workload, const std::function<void(int64_t versions)>& progress,
                 const StopFlag* stop);

// Makes the longest tenth of times, one at least, no longer than the median: what no slow client
// would change.
template <class Time>
void CutSlowest(std::vector<Time>& times) {
  std::vector<Time> sorted = times;
  std::ranges::sort(sorted);
  const size_t slow = std::max<size_t>(1, sorted.size() / 10);
  const Time from = sorted[sorted.size() - slow], median = sorted[(sorted.size() - 1) / 2];
  for (Time& time : times) {
    if (time >= from) time = median;
  }
}

// Runs the plan of a request that has an exchange, where all rounds are alike. Throws Error.
Plan RunExchangePlan(PlanNetworks& networks, const PlanRemedy& remedy,
                     const std::function<void(int64_t versions)>& progress, const StopFlag* stop);

}  // namespace legacy
