// Runs collectives over a network in which flows overtake each other, with workers that start at
// random times, and checks properties of every algorithm.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/step/step.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric {

inline constexpr uint32_t kTagBase = 0xBEEF42;

// Returns a spec for `workers` with usable values in all fields that any algorithm reads: servers,
// groups, sums that grow, a tree of two aggregators below a root.
inline CollectiveSpec AnySpec(CollectiveAlgorithm algorithm, int workers, int64_t bytes) {
  CollectiveSpec spec;
  spec.algorithm = algorithm;
  spec.bytes.assign(workers, bytes);
  spec.pullBytes = 2 * bytes + 1;
  spec.root = workers / 3;
  spec.group = 3;
  if (algorithm == CollectiveAlgorithm::ShardedParameterServer) spec.servers = 3;
  if (algorithm == CollectiveAlgorithm::ScatterReduceAllGather) spec.sumBytes = {bytes + 5};
  if (algorithm == CollectiveAlgorithm::SparseTree) {
    for (int merged = 1; merged < workers; merged *= 2) {
      spec.sumBytes.push_back(bytes + 10 * merged);
    }
  }
  if (algorithm == CollectiveAlgorithm::AllToAllV) {
    for (int pair = 0; pair < workers * workers; ++pair) {
      spec.pairBytes.push_back(bytes / (1 + pair % 5));
    }
  }
  if (algorithm == CollectiveAlgorithm::InNetworkAllReduce) {
    spec.firstAggregator = workers + 2;  // after two servers that are not its own
    for (int w = 0; w < workers; ++w) spec.parents.push_back(spec.firstAggregator + 1 + w % 2);
    spec.parents.insert(spec.parents.end(), {-1, spec.firstAggregator, spec.firstAggregator});
  }
  if (algorithm == CollectiveAlgorithm::NvlsAllReduce) {
    spec.firstAggregator = workers + 2;
    spec.parents.assign(workers, spec.firstAggregator);  // nodes of any size share the switch
  }
  return spec;
}

// Returns how long a collective takes that all workers of a placement start at once.
inline StepTiming TimeAlone(const CollectiveSpec& spec, EngineFactory engine,
                            const EngineRequest& request) {
  StepTraffic traffic;
  traffic.workers = request.placement->Workers();
  traffic.deviceFree.assign(traffic.workers, 0);
  traffic.buckets.push_back({traffic.deviceFree, {{spec, {}}}, {}});
  return StepSimulator(std::move(engine), request).Simulate(traffic, 0);
}

inline bool MayDiffer(CollectiveAlgorithm algorithm) {
  const bool summed =
      CanCarry(algorithm, Payload::Sum) || CanCarry(algorithm, Payload::ScatteredSum) ||
      CanCarry(algorithm, Payload::HopSum) || CanCarry(algorithm, Payload::HopScatter);
  return !summed || CanCarry(algorithm, Payload::Concat);
}

using Endpoints = std::bitset<256>;

// Runs a collective and tracks from which endpoints each one has data. A message carries what its
// sender knew when it sent it, so that a message that leaves too early leaves some endpoint without
// data in the end.
class Trial {
 public:
  std::function<void(const Flow&)> on_send;
  std::function<void(const Flow&)> on_delivered;
  std::vector<int> done;
  std::map<int, int64_t> sent;      // bytes by endpoint
  std::map<int, int64_t> received;  // bytes by endpoint
  std::map<int, Endpoints> heard;
  std::map<int, Endpoints> heard_when_done;
  int64_t most_in_flight = 0;
  int64_t flows = 0;
  bool relays = false;  // true if workers send on what they receive before they start

  void Run(const CollectiveSpec& spec, uint64_t seed) {
    const int workers = static_cast<int>(spec.bytes.size());
    started_.assign(workers, false);
    done.assign(workers, 0);
    RandomNetwork network(seed);
    const auto collective = MakeCollective(spec, kTagBase, [&](int worker, FlowSink& sink) {
      EXPECT_EQ(&sink, &network);
      EXPECT_TRUE(started_[worker]);
      ++done[worker];
      heard_when_done[worker] = heard[worker];
    });
    network.on_send = [&](const Flow& flow) { Sent(flow, workers); };
    network.on_delivered = [&](const Flow& flow) {
      Delivered(flow);
      collective->OnDelivered(flow, network);
    };
    network.on_wake = [&](uint64_t token) {
      const WakeOf wake = CollectiveOfWake(token).value();
      EXPECT_EQ(wake.tagBase, kTagBase);
      collective->OnWake(wake.mark, network);
    };
    for (int w = 0; w < workers; ++w) {
      network.Later([&, w] {
        started_[w] = true;
        heard[w].set(w);
        collective->Start(w, network);
      });
    }
    network.Run();
    EXPECT_TRUE(collective->Done());
    EXPECT_EQ(done, std::vector<int>(workers, 1));
    EXPECT_TRUE(in_flight_.empty());
    for (const auto& [pair, more] : more_) EXPECT_FALSE(more) << pair.first << "-" << pair.second;
    const std::vector<int64_t> sends = BytesSent(spec);
    const std::vector<int64_t> receives = BytesReceived(spec);
    for (int w = 0; w < workers; ++w) {
      EXPECT_EQ(sent[w], sends[w]) << "worker " << w;
      EXPECT_EQ(received[w], receives[w]) << "worker " << w;
    }
  }

 private:
  using Key = std::tuple<int, int, uint64_t>;  // source, destination, tag

  void Sent(const Flow& flow, int workers) {
    EXPECT_EQ(flow.tag >> kTagShift, kTagBase);
    EXPECT_NE(flow.source, flow.destination);
    EXPECT_TRUE(flow.source >= workers || started_[flow.source] || relays);
    ++flows;
    sent[flow.source] += flow.bytes;
    more_[{flow.source, flow.destination}] = flow.more;
    in_flight_[{flow.source, flow.destination, flow.tag}].push_back(heard[flow.source]);
    most_in_flight = std::max(most_in_flight, ++in_flight_count_);
    if (on_send) on_send(flow);
  }

  void Delivered(const Flow& flow) {
    --in_flight_count_;
    received[flow.destination] += flow.bytes;
    auto carried = in_flight_.find({flow.source, flow.destination, flow.tag});
    heard[flow.destination] |= carried->second.front();
    carried->second.pop_front();
    if (carried->second.empty()) in_flight_.erase(carried);
    if (on_delivered) on_delivered(flow);
  }

  std::vector<bool> started_;
  std::map<Key, std::deque<Endpoints>> in_flight_;
  std::map<std::pair<int, int>, bool> more_;  // `more` of the last flow, by pair
  int64_t in_flight_count_ = 0;
};

}  // namespace legacy::fabric
