// A plan without a server: in each round all clients work and then exchange their updates by a
// collective. The next round begins when all have everything.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scenarios/federated/exchange_network.h"
#include "scenarios/federated/plan.h"

namespace legacy {

// An ExchangeRun simulates such rounds; a derived class says what clients do before and in each
// exchange. Rounds have counted tasks of all clients; bytes and USD of uploads are those that
// clients send, and downloads have none. Of Plan::exchange, the times of synchronisation are set,
// and hops and bound of the last round.
class ExchangeRun : public PlanRun {
 public:
  const PlannedRound* Next() override;
  std::span<const EndedTask> Tasks() const override { return {}; }
  Plan Finish() override;

 protected:
  // `exchanges` are those of a round; each begins when the one before has ended.
  ExchangeRun(PlanNetworks& networks, const PlanControl& control, int64_t versions, int exchanges);

  const PlanRequest& request() const { return request_; }
  const ExchangeNetwork& network() const { return network_; }

 private:
  // Returns what the next exchange asks of devices and network, by rank; valid until the next call.
  virtual const fabric::StepTraffic& NextTraffic() = 0;
  // Is told of its end, at `start` + timing.total.
  virtual void Timed(const fabric::StepTiming& /*timing*/, TimeNs /*start*/) {}
  // Completes the round, of which all exchanges have ended.
  virtual void Complete(PlannedRound& /*round*/) {}

  // The last rounds whose exchange, the first or second and so on of each, was alike.
  struct AlikeRounds {
    std::string known;  // its traffic
    ExchangedPairs pairs;
    int64_t rounds = 0;
  };

  // Simulates the next exchange of a round. Returns its seconds from the end of the last work on.
  double Exchange(AlikeRounds& alike, PlannedRound& round);
  // Adds what clients sent in all rounds, and returns what they send in the last one.
  ExchangedPairs AddClients();

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const PlanRequest& request_;
  const ExchangeNetwork network_;
  const int64_t versions_;
  const StopFlag* const stop_;
  fabric::StepSimulator simulator_;
  Plan plan_;
  double usd_per_hour_ = 0;  // of all clients
  std::vector<fabric::LinkCounters> links_;
  std::vector<AlikeRounds> sent_;  // by exchange of a round
  TimeNs now_ = 0;
  uint64_t number_ = 0;  // of the next exchange
};

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

// Does what StartPlan does for a request that has an exchange, where all rounds are alike.
std::unique_ptr<PlanRun> StartExchangePlan(PlanNetworks& networks, const PlanControl& control);

}  // namespace legacy
