#include "scenarios/network/validation/roce_flows.h"

#include <algorithm>
#include <numeric>

#include "scenarios/network/results.h"

namespace legacy::roce_validation {

using fabric::LinkCounters;
using fabric::RoceTrial;

double WireNanoseconds(const RoceTrial& trial, int64_t bytes, int64_t rate) {
  return 8e9 * static_cast<double>(trial.GetTransport().WireBytes(bytes)) /
         static_cast<double>(rate);
}

std::vector<double> SharesBetween(RoceTrial& trial, int senders, TimeNs from, TimeNs until) {
  const auto bytes = [&] {
    std::vector<double> all;
    for (int i = 0; i < senders; ++i) all.push_back(trial.Activity()[2 * i].bytes);
    return all;
  };
  trial.RunUntil(from);
  const std::vector<double> before = bytes();
  trial.RunUntil(until);
  std::vector<double> shares = bytes();
  for (int i = 0; i < senders; ++i) {
    shares[i] = 8e9 * (shares[i] - before[i]) / static_cast<double>(until - from) / kRate;
  }
  return shares;
}

fabric::Topology TwoPorts(int64_t trunk, bool same_trip) {
  const fabric::Topology topology = fabric::RoceTrunk(3, 2, kRate, trunk, kDelay);
  return topology.WithLinks([=](int index, fabric::Link& link) {
    constexpr TimeNs kHalfOfFrames = 47;  // a frame of 1,092 bytes and its ACK, at 100 Gbit/s
    if (same_trip && index == 3) link.delay += kDelay + kHalfOfFrames;
  });
}

std::vector<double> SharesOfPorts(const std::string& options, const fabric::Topology& topology,
                                  TimeNs from) {
  RoceTrial trial(topology, "roce:" + options);
  for (int i = 0; i < 4; ++i) trial.Send({i, 4, kEndless});
  return SharesBetween(trial, 4, from, 2 * from);
}

double VictimRate(const std::string& options) {
  constexpr int64_t kBytes = 2'000'000;
  RoceTrial trial(fabric::RoceTrunk(6, 2, kRate, 4 * kRate, kDelay), "roce:" + options);
  for (int i = 0; i < 5; ++i) trial.Send({i, 6, kBytes});
  trial.Send({5, 7, kBytes});
  trial.RunUntil();
  return WireNanoseconds(trial, kBytes) / static_cast<double>(trial.Arrived().back() - 3 * kDelay);
}

LongFlows RunLong(const std::string& options, int flows, int64_t rate, TimeNs from, TimeNs until,
                  TimeNs second) {
  RoceTrial trial(fabric::RoceStar(flows + 1, rate, kDelay), "roce:" + options);
  for (int i = 0; i < flows; ++i) trial.Send({i, flows, kEndless}, i == 1 ? second : 0);
  const fabric::DirectedLink last = trial.Link("switch>host" + std::to_string(flows));
  trial.RunUntil(from);
  const std::vector<LinkCounters> before = trial.Links();
  std::vector<double> queues;
  constexpr TimeNs kSample = 2000;
  for (TimeNs now = from + kSample; now <= until; now += kSample) {
    trial.RunUntil(now);
    queues.push_back(static_cast<double>(trial.Activity()[last].queueBytes));
  }
  const std::vector<LinkCounters> after = trial.Links();
  LongFlows result;
  for (int i = 0; i < flows; ++i) {
    result.shares.push_back(8e9 * static_cast<double>(after[2 * i].bytes - before[2 * i].bytes) /
                            static_cast<double>(until - from) / static_cast<double>(rate));
  }
  result.queue =
      std::accumulate(queues.begin(), queues.end(), 0.0) / static_cast<double>(queues.size());
  std::ranges::sort(queues);
  result.queue99 = Percentile(queues, 0.99);
  result.marks = static_cast<double>(after[last].marks - before[last].marks) /
                 static_cast<double>(after[last].packets - before[last].packets);
  for (const LinkCounters& link : after) result.pauses += link.pauses;
  return result;
}

double SumOf(const LongFlows& flows) {
  return std::accumulate(flows.shares.begin(), flows.shares.end(), 0.0);
}

}  // namespace legacy::roce_validation
