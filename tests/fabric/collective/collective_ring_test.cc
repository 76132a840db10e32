// Details of rings, broadcast and the single server.
#include <gtest/gtest.h>

#include <set>

#include "tests/fabric/collective/collective_testing.h"

namespace legacy::fabric::collective_ring_test {
namespace {

int RoundOf(const Flow& flow) { return static_cast<int>(flow.tag & 0xFFFF'FFFF); }

// Chunk c at worker w holds the sum of the contributions of a set of workers. A message carries the
// set that its sender held when it sent, so that a message that leaves too early lacks
// contributions at the end.
TEST(RingAllReduce, EveryWorkerEndsWithEveryContributionOnce) {
  for (int workers : {2, 3, 4, 7}) {
    for (int64_t bytes : {0, 1, 5, 1000, 1003}) {
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        using Set = std::set<int>;
        std::vector<std::vector<Set>> holds(workers, std::vector<Set>(workers));
        for (int w = 0; w < workers; ++w) {
          for (int c = 0; c < workers; ++c) holds[w][c] = {w};
        }
        std::map<std::pair<int, int>, Set> in_flight;
        std::vector<int64_t> chunk_bytes(workers, -1);
        const auto chunk_of = [&](const Flow& flow) {
          return ((flow.source - RoundOf(flow)) % workers + workers) % workers;
        };
        Trial trial;
        trial.on_send = [&](const Flow& flow) {
          EXPECT_EQ(flow.destination, (flow.source + 1) % workers);
          int64_t& known = chunk_bytes[chunk_of(flow)];
          EXPECT_TRUE(known == -1 || known == flow.bytes);
          known = flow.bytes;
          EXPECT_TRUE(in_flight
                          .emplace(std::make_pair(flow.source, RoundOf(flow)),
                                   holds[flow.source][chunk_of(flow)])
                          .second);
        };
        // The algorithm reduces an early round when its turn comes. Reducing at once, as here,
        // gives the same sets, because later rounds bring other chunks, or replace them.
        trial.on_delivered = [&](const Flow& flow) {
          const Set& carried = in_flight.at({flow.source, RoundOf(flow)});
          Set& mine = holds[flow.destination][chunk_of(flow)];
          if (RoundOf(flow) < workers - 1) {
            for (int contribution : carried) EXPECT_TRUE(mine.insert(contribution).second);
          } else {
            EXPECT_EQ(carried.size(), static_cast<size_t>(workers));
            mine = carried;
          }
        };
        CollectiveSpec spec;
        spec.bytes.assign(workers, bytes);
        trial.Run(spec, seed);
        for (int w = 0; w < workers; ++w) {
          for (int c = 0; c < workers; ++c)
            EXPECT_EQ(holds[w][c].size(), static_cast<size_t>(workers));
        }
        EXPECT_EQ(std::accumulate(chunk_bytes.begin(), chunk_bytes.end(), int64_t{0}), bytes);
        EXPECT_EQ(in_flight.size(), 2u * (workers - 1) * workers);
        EXPECT_LE(*std::max_element(chunk_bytes.begin(), chunk_bytes.end()),
                  *std::min_element(chunk_bytes.begin(), chunk_bytes.end()) + 1);
      }
    }
  }
}

TEST(RingAllGather, EveryWorkerReceivesEveryOtherBlockOnceAndForwardsOnlyWhatItHas) {
  for (int workers : {2, 3, 8}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      CollectiveSpec spec;
      spec.algorithm = CollectiveAlgorithm::RingAllGather;
      for (int w = 0; w < workers; ++w)
        spec.bytes.push_back(w * w * 100);  // the size names the block; one is empty
      std::vector<std::set<int64_t>> holds(workers);
      for (int w = 0; w < workers; ++w) holds[w] = {spec.bytes[w]};
      std::vector<int> received(workers, 0);
      Trial trial;
      trial.on_send = [&](const Flow& flow) {
        EXPECT_TRUE(holds[flow.source].count(flow.bytes));
        EXPECT_LE(RoundOf(flow), received[flow.source]);  // round r + 1 only after r
      };
      trial.on_delivered = [&](const Flow& flow) {
        EXPECT_TRUE(holds[flow.destination].insert(flow.bytes).second);
        ++received[flow.destination];
      };
      trial.Run(spec, seed);
      for (const auto& blocks : holds) EXPECT_EQ(blocks.size(), static_cast<size_t>(workers));
    }
  }
}

TEST(Broadcast, EveryWorkerReceivesOnceFromOneThatHasIt) {
  for (int workers : {2, 3, 5, 8, 13}) {
    for (int root : {0, workers - 1, workers / 2}) {
      CollectiveSpec spec;
      spec.algorithm = CollectiveAlgorithm::Broadcast;
      spec.root = root;
      spec.bytes.assign(workers, 7);
      spec.bytes[root] = 1000;
      std::set<int> holds{root};
      std::map<int, int> sending;
      Trial trial;
      trial.on_send = [&](const Flow& flow) {
        EXPECT_TRUE(holds.count(flow.source));
        EXPECT_EQ(flow.bytes, 1000);
        EXPECT_EQ(++sending[flow.source], 1) << "one child at a time";
      };
      trial.on_delivered = [&](const Flow& flow) {
        EXPECT_TRUE(holds.insert(flow.destination).second);
        --sending[flow.source];
      };
      trial.Run(spec, 3);
      EXPECT_EQ(holds.size(), static_cast<size_t>(workers));
    }
  }
}

TEST(ParameterServer, PullsFollowTheLastPush) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    CollectiveSpec spec;
    spec.algorithm = CollectiveAlgorithm::ParameterServer;
    spec.bytes = {10, 0, 30, 40};
    spec.pullBytes = 25;
    std::set<int> pushed;
    std::set<int> pulled;
    Trial trial;
    trial.on_send = [&](const Flow& flow) {
      if (flow.source == 4) {
        EXPECT_EQ(pushed.size(), 4u);
        EXPECT_EQ(flow.bytes, 25);
      } else {
        EXPECT_EQ(flow.destination, 4);
      }
    };
    trial.on_delivered = [&](const Flow& flow) {
      EXPECT_TRUE(flow.destination == 4 ? pushed.insert(flow.source).second
                                        : pulled.insert(flow.destination).second);
    };
    trial.Run(spec, seed);
    EXPECT_EQ(pulled.size(), 4u);
    EXPECT_EQ(trial.sent[4], 100);
  }
}

}  // namespace
}  // namespace legacy::fabric::collective_ring_test