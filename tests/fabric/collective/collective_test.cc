#include "ns3-module/fabric/collective/collective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "ns3-module/fabric/collective/alpha-beta.h"
#include "ns3-module/fabric/collective/double-tree.h"
#include "ns3-module/fabric/collective/pieces.h"
#include "tests/fabric/collective/collective_testing.h"

namespace legacy::fabric::collective_test {
namespace {

class EveryAlgorithm : public testing::TestWithParam<CollectiveAlgorithm> {};

INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithm, testing::ValuesIn(CollectiveAlgorithms()),
                         [](const auto& info) {
                           std::string name = ToString(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// A worker is done exactly when it has received, directly or through others, the data that it
// needs.
TEST_P(EveryAlgorithm, DeliversAllDataAndCountsItsBytes) {
  for (int workers : {2, 3, 4, 5, 7, 8, 13}) {
    if (!TakesWorkers(GetParam(), workers)) continue;
    for (int64_t bytes : {0, 1, 5, 1000, 100'003}) {
      CollectiveSpec spec = AnySpec(GetParam(), workers, bytes);
      for (int w = 0; w < workers && MayDiffer(GetParam()); ++w) spec.bytes[w] *= w;
      Trial trial;
      trial.Run(spec, 17 * workers + bytes);
      for (int w = 0; w < workers; ++w) {
        if (GetParam() == CollectiveAlgorithm::Broadcast) {
          EXPECT_TRUE(trial.heard_when_done[w][spec.root]);
        } else {
          EXPECT_EQ(trial.heard_when_done[w].count(), static_cast<size_t>(workers))
              << "worker " << w << " of " << workers << ", " << bytes << " bytes";
        }
      }
    }
  }
}

TEST_P(EveryAlgorithm, SendsAboutAsManyFlowsAsIsEstimated) {
  for (int workers : {1, 2, 3, 8, 9, 13, 16}) {
    if (!TakesWorkers(GetParam(), workers)) continue;
    const CollectiveSpec spec = AnySpec(GetParam(), workers, 500'000);
    Trial trial;
    trial.Run(spec, 1);
    const bool uneven = workers % spec.group != 0;
    EXPECT_NEAR(EstimatedFlows(spec), static_cast<double>(trial.flows),
                uneven && std::string(ToString(GetParam())).rfind("hierarchical", 0) == 0
                    ? 0.35 * trial.flows
                    : 0)
        << workers << " workers";
  }
}

// For any window, piece, group and number of servers, only the order on the wire changes.
TEST_P(EveryAlgorithm, WorksWithAnyWindowPieceGroupAndServers) {
  for (int shape = 1; shape <= 9; ++shape) {
    CollectiveSpec spec = AnySpec(GetParam(), 8, 1001);
    spec.window = shape;
    spec.pieceBytes = 100 * shape;
    spec.group = shape;
    spec.servers = shape;
    Trial trial;
    trial.Run(spec, shape);
    EXPECT_LE(trial.most_in_flight, 4 * 9 * (8 + spec.servers));
  }
}

TEST_P(EveryAlgorithm, NeverHasAllFlowsInFlight) {
  const int workers = TakesWorkers(GetParam(), 200) ? 200 : 128;
  CollectiveSpec spec = AnySpec(GetParam(), workers, 1 << 20);
  spec.group = 14;
  spec.window = 4;
  Trial trial;
  trial.Run(spec, 1);
  EXPECT_LE(trial.most_in_flight, 40 * workers);
}

TEST_P(EveryAlgorithm, OneWorkerIsDoneAtOnce) {
  CollectiveSpec spec = AnySpec(GetParam(), 1, 1000);
  spec.root = 0;
  Trial trial;
  trial.on_send = [](const Flow&) { ADD_FAILURE() << "nothing to send"; };
  trial.Run(spec, 1);
  EXPECT_EQ(ParseCollective(ToString(GetParam())), GetParam());
}

// Bytes that each of 8 workers sends, for M = 5,040 bytes, by the figures of the papers.
TEST(Collective, SendsThePublishedBytes) {
  constexpr int64_t kM = 5040;
  const auto sent = [](CollectiveAlgorithm algorithm) {
    return BytesSent(AnySpec(algorithm, 8, kM));
  };
  const std::vector<int64_t> optimal(8, 2 * kM * 7 / 8);
  EXPECT_EQ(sent(CollectiveAlgorithm::RingAllReduce), optimal);
  EXPECT_EQ(sent(CollectiveAlgorithm::HalvingDoublingAllReduce), optimal);
  EXPECT_EQ(sent(CollectiveAlgorithm::DirectAllReduce), optimal);
  EXPECT_EQ(sent(CollectiveAlgorithm::InNetworkAllReduce), std::vector<int64_t>(8, kM));
  EXPECT_EQ(sent(CollectiveAlgorithm::RingAllGather), std::vector<int64_t>(8, 7 * kM));
  EXPECT_EQ(sent(CollectiveAlgorithm::DirectAllGather), std::vector<int64_t>(8, 7 * kM));
  EXPECT_EQ(sent(CollectiveAlgorithm::RecursiveDoublingAllGather), std::vector<int64_t>(8, 7 * kM));
  EXPECT_EQ(sent(CollectiveAlgorithm::BruckAllGather), std::vector<int64_t>(8, 7 * kM));
  EXPECT_EQ(sent(CollectiveAlgorithm::RingReduceScatter), std::vector<int64_t>(8, kM * 7 / 8));
  EXPECT_EQ(sent(CollectiveAlgorithm::HalvingReduceScatter), std::vector<int64_t>(8, kM * 7 / 8));
  EXPECT_EQ(sent(CollectiveAlgorithm::AllToAll), std::vector<int64_t>(8, kM * 7 / 8));
  EXPECT_EQ(sent(CollectiveAlgorithm::ShardedParameterServer), std::vector<int64_t>(8, kM));
  // Two groups of 4 send 3/4 M each way inside, and 2 x 1/2 of M/4 across.
  CollectiveSpec two = AnySpec(CollectiveAlgorithm::HierarchicalAllReduce, 8, kM);
  two.group = 4;
  EXPECT_EQ(BytesSent(two), std::vector<int64_t>(8, 2 * kM * 3 / 4 + kM / 4));
  // Blocks of the group travel inside, one slice of them across, and three other slices inside.
  two.algorithm = CollectiveAlgorithm::HierarchicalAllGather;
  EXPECT_EQ(BytesSent(two), std::vector<int64_t>(8, 3 * kM + kM + 3 * kM));
  // No worker of a double tree sends more than twice its message; all together send 2 (N - 1)
  // messages.
  const std::vector<int64_t> trees = sent(CollectiveAlgorithm::DoubleTreeAllReduce);
  EXPECT_EQ(std::accumulate(trees.begin(), trees.end(), int64_t{0}), 2 * 7 * kM);
  EXPECT_LE(*std::max_element(trees.begin(), trees.end()), 2 * kM);
}

TEST(HalvingDoubling, ExchangesHalvesThenQuartersAndFoldsTheRest) {
  std::map<int, std::multiset<int64_t>> sent;
  Trial trial;
  trial.on_send = [&](const Flow& flow) { sent[flow.source].insert(flow.bytes); };
  trial.Run(AnySpec(CollectiveAlgorithm::HalvingDoublingAllReduce, 5, 800), 3);
  EXPECT_EQ(sent[0], (std::multiset<int64_t>{800}));  // folded into worker 1
  // Worker 1 gives the result back, and tells three workers that it has received the folded
  // message.
  EXPECT_EQ(sent[1], (std::multiset<int64_t>{1, 1, 1, 400, 200, 200, 400, 800}));
  EXPECT_EQ(sent[4], (std::multiset<int64_t>{400, 200, 200, 400}));
}

// Worker w's block has 2^w bytes, so that the bytes of a message name its blocks. No worker may
// send a block that it does not have, or receive one twice, and each has them all in the end. Zero
// bits stand for empty blocks.
TEST(DoublingAllGathers, MoveEachBlockToEachWorkerOnce) {
  for (const CollectiveAlgorithm algorithm :
       {CollectiveAlgorithm::RecursiveDoublingAllGather, CollectiveAlgorithm::BruckAllGather}) {
    for (int workers = 2; workers <= 33; ++workers) {
      if (!TakesWorkers(algorithm, workers)) continue;
      for (const uint64_t present : {~uint64_t{0}, uint64_t{0x55555555A}}) {
        CollectiveSpec spec = AnySpec(algorithm, workers, 0);
        std::vector<int64_t> blocks(workers);  // blocks of each worker, as bits
        for (int w = 0; w < workers; ++w) {
          spec.bytes[w] = static_cast<int64_t>(present & uint64_t{1} << w);
          blocks[w] = spec.bytes[w];
        }
        const int64_t all = std::accumulate(blocks.begin(), blocks.end(), int64_t{0});
        Trial trial;
        trial.on_send = [&](const Flow& flow) {
          EXPECT_EQ(flow.bytes & ~blocks[flow.source], 0) << flow.source << " of " << workers;
        };
        trial.on_delivered = [&](const Flow& flow) {
          EXPECT_EQ(flow.bytes & blocks[flow.destination], 0) << flow.destination;
          blocks[flow.destination] |= flow.bytes;
        };
        trial.Run(spec, workers);
        EXPECT_EQ(blocks, std::vector<int64_t>(workers, all));
        int stages = 0;
        while (1 << stages < workers) ++stages;
        EXPECT_EQ(trial.flows, workers * stages);
      }
    }
  }
}

// Sums of 5 bytes over 8 workers have blocks of one byte for workers 0 to 4, and empty ones for the
// others. The last message that completes a worker's block is as long as the block.
TEST(ReduceScatter, LeavesEachWorkerItsOwnBlock) {
  for (const CollectiveAlgorithm algorithm :
       {CollectiveAlgorithm::RingReduceScatter, CollectiveAlgorithm::HalvingReduceScatter}) {
    const CollectiveSpec spec = AnySpec(algorithm, 8, 5);
    std::vector<std::pair<uint64_t, int64_t>> last(8);  // tag and bytes of the last stage's message
    Trial trial;
    trial.on_delivered = [&](const Flow& flow) {
      last[flow.destination] = std::max(last[flow.destination], {flow.tag, flow.bytes});
    };
    trial.Run(spec, 7);
    for (int w = 0; w < 8; ++w) EXPECT_EQ(last[w].second, w < 5 ? 1 : 0) << w;
  }
  // 3 workers: 0 folds into 1, which exchanges with 2 (two blocks for one), and returns a block.
  std::map<std::pair<int, int>, std::multiset<int64_t>> sent;
  Trial trial;
  trial.on_send = [&](const Flow& flow) {
    sent[{flow.source, flow.destination}].insert(flow.bytes);
  };
  trial.Run(AnySpec(CollectiveAlgorithm::HalvingReduceScatter, 3, 302), 1);
  EXPECT_EQ((sent[{0, 1}]), std::multiset<int64_t>{302});
  EXPECT_EQ((sent[{1, 2}]), (std::multiset<int64_t>{1, 100}));  // its word, and block 2
  EXPECT_EQ((sent[{2, 1}]), std::multiset<int64_t>{202});
  EXPECT_EQ((sent[{1, 0}]), std::multiset<int64_t>{101});
}

TEST(AllToAllV, SendsThePairsOfTheMatrixInItsOrder) {
  constexpr int kWorkers = 5;
  CollectiveSpec spec = AnySpec(CollectiveAlgorithm::AllToAllV, kWorkers, 0);
  for (int pair = 0; pair < kWorkers * kWorkers; ++pair) {
    spec.pairBytes[pair] = pair % 7 == 0 ? 0 : int64_t{1} << pair;
  }
  for (const auto order : {PeerOrder::Rotated, PeerOrder::Index}) {
    spec.order = order;
    std::vector<int64_t> received(kWorkers * kWorkers, 0);
    std::vector<std::vector<int>> destinations(kWorkers);
    Trial trial;
    trial.on_send = [&](const Flow& f) { destinations[f.source].push_back(f.destination); };
    trial.on_delivered = [&](const Flow& f) {
      received[f.source * kWorkers + f.destination] += f.bytes;
    };
    trial.Run(spec, 3);
    std::vector<int64_t> expected = spec.pairBytes;
    for (int w = 0; w < kWorkers; ++w) expected[w * kWorkers + w] = 0;
    EXPECT_EQ(received, expected);
    EXPECT_EQ(destinations[2], order == PeerOrder::Index ? (std::vector<int>{0, 1, 3, 4})
                                                         : (std::vector<int>{3, 4, 0, 1}));
  }
  // All equal, it is an all-to-all.
  spec.pairBytes.assign(kWorkers * kWorkers, 20);
  EXPECT_EQ(BytesSent(spec), BytesSent(AnySpec(CollectiveAlgorithm::AllToAll, kWorkers, 100)));
}

TEST(DoubleTree, AnInnerNodeOfOneTreeIsALeafOfTheOther) {
  for (int workers = 2; workers <= 70; ++workers) {
    int depth_limit = 1;
    while (1 << depth_limit <= workers) ++depth_limit;
    for (int w = 0; w < workers; ++w) {
      int inner = 0;
      for (bool second : {false, true}) {
        const BinaryTree tree{workers, second};
        EXPECT_EQ(tree.WorkerAt(tree.Position(w)), w);
        int depth = 1;
        for (int up = w; tree.Parent(up) != BinaryTree::kNone; up = tree.Parent(up)) {
          const int parent = tree.Parent(up);
          EXPECT_TRUE(tree.Child(parent, 0) == up || tree.Child(parent, 1) == up);
          ASSERT_LE(++depth, depth_limit) << w << " of " << workers;
        }
        inner += tree.Child(w, 0) != BinaryTree::kNone || tree.Child(w, 1) != BinaryTree::kNone;
      }
      EXPECT_LE(inner, 1) << w << " of " << workers;
    }
  }
}

TEST(Pieces, AreAboutSixteenOfSensibleSize) {
  EXPECT_EQ(Pieces(0, 0).count, 1);
  EXPECT_EQ(Pieces(1000, 0).count, 1);
  EXPECT_EQ(Pieces(1 << 20, 0).count, 16);
  EXPECT_EQ(Pieces(1 << 30, 0).count, 1024);
  EXPECT_EQ(Pieces(10, 3).count, 4);
  EXPECT_EQ(Pieces(10, 3).Bytes(0) + Pieces(10, 3).Bytes(3), 5);
}

// Sums hold 1, 2 and 4 messages, and the 3 that are left of 7, which take as long as 4.
TEST(SparseTree, SumsGrowWithWhatTheyHold) {
  CollectiveSpec spec = AnySpec(CollectiveAlgorithm::SparseTree, 7, 100);
  spec.root = 0;
  spec.sumBytes = {150, 220, 300};
  Trial trial;
  std::map<std::pair<int, int>, int64_t> up;
  trial.on_send = [&](const Flow& flow) {
    up.try_emplace({flow.source, flow.destination}, flow.bytes);
  };
  trial.Run(spec, 5);
  EXPECT_EQ((up[{1, 0}]), 100);
  EXPECT_EQ((up[{2, 0}]), 150);
  EXPECT_EQ((up[{5, 4}]), 100);
  EXPECT_EQ((up[{6, 4}]), 100);
  EXPECT_EQ((up[{4, 0}]), 220);
  EXPECT_EQ((up[{0, 4}]), 300);
}

// Returns the bytes of the messages of a sum by hops, by sender and number.
std::map<std::pair<int, uint64_t>, int64_t> HopsOf(const CollectiveSpec& spec) {
  std::map<std::pair<int, uint64_t>, int64_t> sent;
  Trial trial;
  trial.on_send = [&](const Flow& flow) {
    sent[{flow.source, flow.tag & ((uint64_t{1} << kTagShift) - 1)}] = flow.bytes;
  };
  trial.Run(spec, 3);
  return sent;
}

// Three pieces of 100, 50 and none, with headers of 20 where there are any.
TEST(Hops, RingSendsEachPieceOnceARound) {
  CollectiveSpec spec = AnySpec(CollectiveAlgorithm::HopRingAllReduce, 3, 150);
  spec.slices = {{{100, 50, 0}, {20, 20, 0}}};
  const std::map<std::pair<int, uint64_t>, int64_t> expected = {
      {{0, 0}, 120}, {{1, 0}, 70}, {{2, 0}, 0},   {{0, 1}, 0},   {{1, 1}, 120}, {{2, 1}, 70},
      {{0, 2}, 70},  {{1, 2}, 0},  {{2, 2}, 120}, {{0, 3}, 120}, {{1, 3}, 70},  {{2, 3}, 0}};
  EXPECT_EQ(HopsOf(spec), expected);
  EXPECT_EQ(BytesSent(spec), (std::vector<int64_t>{310, 260, 190}));
}

// Worker 4 of five gives all to worker 0; the others halve at distance 2, then 1.
TEST(Hops, ButterflyHalvesFromFarToNearAndFoldsTheRest) {
  CollectiveSpec spec = AnySpec(CollectiveAlgorithm::HopButterflyAllReduce, 5, 150);
  spec.slices = {{{80, 40, 20, 10}, {20, 20, 20, 20}}};
  const std::map<std::pair<int, uint64_t>, int64_t> expected = {
      {{4, 0}, 170}, {{0, 1}, 50},  {{1, 1}, 50},  {{2, 1}, 140}, {{3, 1}, 140}, {{0, 2}, 60},
      {{1, 2}, 100}, {{2, 2}, 30},  {{3, 2}, 40},  {{0, 3}, 100}, {{1, 3}, 60},  {{2, 3}, 40},
      {{3, 3}, 30},  {{0, 4}, 140}, {{1, 4}, 140}, {{2, 4}, 50},  {{3, 4}, 50},  {{0, 5}, 170}};
  EXPECT_EQ(HopsOf(spec), expected);
}

// Piece w ends with worker w: worker 0 of a ring sends 2, 1; worker 1 sends 0, 2; worker 2 1, 0.
TEST(Hops, ReduceScattersEndWithTheOwners) {
  CollectiveSpec ring = AnySpec(CollectiveAlgorithm::HopRingReduceScatter, 3, 150);
  ring.slices = {{{100, 50, 0}, {20, 20, 0}}};
  EXPECT_EQ(
      HopsOf(ring),
      (std::map<std::pair<int, uint64_t>, int64_t>{
          {{0, 0}, 0}, {{1, 0}, 120}, {{2, 0}, 70}, {{0, 1}, 70}, {{1, 1}, 0}, {{2, 1}, 120}}));
  EXPECT_EQ(BytesSent(ring), (std::vector<int64_t>{70, 120, 190})) << "all but what they own";
  CollectiveSpec halving = AnySpec(CollectiveAlgorithm::HopHalvingReduceScatter, 4, 150);
  halving.slices = {{{80, 40, 20, 10}, {20, 20, 20, 20}}};
  EXPECT_EQ(HopsOf(halving), (std::map<std::pair<int, uint64_t>, int64_t>{{{0, 1}, 50},
                                                                          {{1, 1}, 50},
                                                                          {{2, 1}, 140},
                                                                          {{3, 1}, 140},
                                                                          {{0, 2}, 60},
                                                                          {{1, 2}, 100},
                                                                          {{2, 2}, 30},
                                                                          {{3, 2}, 40}}));
  halving.bytes.assign(6, 150);
  EXPECT_NE(MessageOf([&] {
              CheckCollective(halving);
            }).find("a power of two; hop-ring-reduce-scatter takes any number"),
            std::string::npos);
}

TEST(Hops, RefuseOtherNumbersOfPieces) {
  CollectiveSpec spec = AnySpec(CollectiveAlgorithm::HopButterflyAllReduce, 5, 100);
  spec.slices = {{{1, 2, 3, 4, 5}, {0, 0, 0, 0, 0}}};
  EXPECT_NE(MessageOf([&] { CheckCollective(spec); }).find("got '5'; allowed: 4 for 5 workers"),
            std::string::npos);
  spec = AnySpec(CollectiveAlgorithm::RingAllReduce, 2, 100);
  spec.slices = {{{1, 2}, {0, 0}}};
  EXPECT_THROW(CheckCollective(spec), Error);
}

TEST(ScatterReduce, OwnersSendPartsOfTheRequantisedSum) {
  CollectiveSpec spec = AnySpec(CollectiveAlgorithm::ScatterReduceAllGather, 4, 0);
  spec.bytes = {400, 40, 4, 0};
  spec.sumBytes = {80};
  EXPECT_EQ(BytesSent(spec), (std::vector<int64_t>{300 + 60, 30 + 60, 3 + 60, 0 + 60}));
  EXPECT_EQ(BytesReceived(spec), (std::vector<int64_t>{11 + 60, 101 + 60, 110 + 60, 111 + 60}));
}

TEST(Collective, AlgorithmsCarryOnlyTheCallsThatFit) {
  using Algorithms = std::vector<CollectiveAlgorithm>;
  EXPECT_EQ(AlgorithmsFor(Payload::Sum).size(), 9u);
  EXPECT_EQ(AlgorithmsFor(Payload::Exchange),
            (Algorithms{CollectiveAlgorithm::AllToAll, CollectiveAlgorithm::AllToAllV}));
  EXPECT_EQ(AlgorithmsFor(Payload::ScatteredSum),
            (Algorithms{CollectiveAlgorithm::RingReduceScatter,
                        CollectiveAlgorithm::HalvingReduceScatter}));
  EXPECT_EQ(AlgorithmsFor(Payload::Broadcast).front(), CollectiveAlgorithm::Broadcast);
  EXPECT_FALSE(CanCarry(CollectiveAlgorithm::SparseTree, Payload::Concat));
  EXPECT_EQ(
      MessageOf([] { CheckCarries(CollectiveAlgorithm::RingAllReduce, Payload::Concat, "topk"); }),
      "topk cannot travel by ring-allreduce; it can by: ring-allgather, direct-allgather, "
      "hierarchical-allgather, recursive-doubling-allgather, bruck-allgather, parameter-server, "
      "sharded-parameter-server");
  EXPECT_EQ(
      MessageOf([] { CheckCarries(CollectiveAlgorithm::RingAllGather, Payload::Concat, "x"); }),
      "");
}

// A piece is the smallest unit here: as many as there are slots travel before the first sum.
TEST(BlockSparse, SendsWhatSlotsHoldUntilSumsAreThere) {
  for (const int aggregators : {0, 1, 3}) {
    for (const int64_t slots : {1, 2, 7, 1000}) {
      CollectiveSpec spec = AnySpec(CollectiveAlgorithm::BlockSparse, 4, 0);
      spec.bytes = {12'000, 30, 5000, 0};
      spec.pullBytes = 12'345;
      spec.servers = aggregators;
      spec.blockBytes = 100;
      spec.slots = slots;
      std::map<std::pair<int, int>, int64_t> unanswered;
      int64_t most = 0;
      Trial trial;
      trial.on_send = [&](const Flow& flow) {
        const bool down = (flow.tag & 1) != 0;
        int64_t& bytes = unanswered[down ? std::pair(flow.destination, flow.source)
                                         : std::pair(flow.source, flow.destination)];
        if (!down) most = std::max(most, ++bytes);
      };
      trial.on_delivered = [&](const Flow& flow) {
        if ((flow.tag & 1) != 0) --unanswered[{flow.destination, flow.source}];
      };
      trial.Run(spec, static_cast<uint64_t>(slots));
      EXPECT_LE(most, std::max<int64_t>(slots, 1)) << "a piece has a block at least";
      EXPECT_EQ(trial.flows, EstimatedFlows(spec));
      if (aggregators == 0) continue;
      EXPECT_EQ(BytesSent(spec), spec.bytes);
      EXPECT_EQ(BytesReceived(spec), std::vector<int64_t>(4, spec.pullBytes));
    }
  }
}

// Where slots limit, the time is that of ceil(blocks / slots) round trips; more slots take less.
TEST(BlockSparse, TakesARoundTripForEachSetOfSlots) {
  constexpr double kAlpha = 1e-3;
  CollectiveSpec spec = AnySpec(CollectiveAlgorithm::BlockSparse, 4, 100 * 1028);
  spec.pullBytes = 100 * 1028;
  for (const auto& [slots, rounds] : {std::pair{1, 100}, {7, 15}, {100, 1}, {1000, 1}}) {
    spec.slots = slots;
    EXPECT_NEAR(AlphaBetaSeconds(spec, kAlpha, 1e15), 2 * rounds * kAlpha, 1e-6) << slots;
  }
  // Workers that aggregate send their message without their own shard, and their sums.
  spec.servers = 0;
  spec.pullBytes = 4000;
  spec.bytes = {400, 800, 1200, 1600};
  EXPECT_EQ(BytesSent(spec), (std::vector<int64_t>{3300, 3600, 3900, 4200}));
  EXPECT_EQ(BytesReceived(spec), (std::vector<int64_t>{3900, 3800, 3700, 3600}));
}

// Each server gets and sends its own shard, and nothing of a worker without a message.
TEST(ShardedServers, HaveTheShardsThatAreGiven) {
  CollectiveSpec spec = AnySpec(CollectiveAlgorithm::ShardedParameterServer, 4, 60);
  spec.bytes[2] = 0;
  spec.pullBytes = 33;
  spec.shards = {{40, 3}, {0, 30}, {20, 0}};
  std::map<std::pair<int, int>, int64_t> flows;
  Trial trial;
  trial.on_send = [&](const Flow& flow) { flows[{flow.source, flow.destination}] += flow.bytes; };
  trial.Run(spec, 3);
  EXPECT_EQ(trial.flows, EstimatedFlows(spec));
  for (int w = 0; w < 4; ++w) {
    for (int s = 0; s < 3; ++s) {
      EXPECT_EQ((flows[{w, 4 + s}]), w == 2 ? 0 : spec.shards[s].push);
      EXPECT_EQ((flows[{4 + s, w}]), spec.shards[s].pull);
    }
  }
  EXPECT_EQ(BytesSent(spec), spec.bytes);
  EXPECT_EQ(BytesReceived(spec), std::vector<int64_t>(4, 33));
  // The NIC of the first server is the busiest; balanced shards are those that are not given.
  EXPECT_DOUBLE_EQ(AlphaBetaSeconds(spec, 0, 1), 4 * 43);
  CollectiveSpec balanced = AnySpec(CollectiveAlgorithm::ShardedParameterServer, 4, 60);
  const double seconds = AlphaBetaSeconds(balanced, 0, 1);
  balanced.shards = {{20, 41}, {20, 40}, {20, 40}};
  EXPECT_NEAR(AlphaBetaSeconds(balanced, 0, 1), seconds, 4);
}

TEST(Collective, MistakesAreNamed) {
  const auto error = [](const CollectiveSpec& spec) {
    EXPECT_NE(MessageOf([&] { BytesSent(spec); }), "");
    return MessageOf([&] { MakeCollective(spec, 0, [](int, FlowSink&) {}); });
  };
  CollectiveSpec spec;
  EXPECT_EQ(error(spec), "ring-allreduce: needs at least one worker");
  spec.bytes = {8, 8, 9};
  EXPECT_EQ(error(spec),
            "ring-allreduce: bytes of worker 2: got '9'; allowed: 8, as worker 0: summed messages "
            "have one length");
  spec.algorithm = CollectiveAlgorithm::Broadcast;
  spec.root = 3;
  EXPECT_EQ(error(spec), "broadcast: root (a worker): got '3'; allowed: 0 to 2");
  spec.algorithm = CollectiveAlgorithm::RingAllGather;
  spec.bytes[1] = -1;
  EXPECT_EQ(error(spec), "ring-allgather: bytes of worker 1: got '-1'; allowed: 0 or more");
  spec.algorithm = CollectiveAlgorithm::ParameterServer;
  spec.bytes[1] = 1;
  spec.pullBytes = -1;
  EXPECT_EQ(error(spec), "parameter-server: pull bytes: got '-1'; allowed: 0 or more");
  const auto wrong = [&](CollectiveAlgorithm algorithm, auto change) {
    CollectiveSpec changed = AnySpec(algorithm, 4, 100);
    change(changed);
    return error(changed);
  };
  EXPECT_EQ(wrong(CollectiveAlgorithm::ShardedParameterServer, [](auto& s) { s.servers = 0; }),
            "sharded-parameter-server: servers: got '0'; allowed: 1 or more");
  const auto shards = [&](std::vector<Shard> given) {
    return wrong(CollectiveAlgorithm::ShardedParameterServer, [&](auto& s) { s.shards = given; });
  };
  EXPECT_EQ(shards({{60, 201}, {40, 0}}),
            "sharded-parameter-server: shards: got '2'; allowed: 3 to 3");
  EXPECT_EQ(shards({{60, 201}, {41, 0}, {-1, 0}}),
            "sharded-parameter-server: bytes of a shard: got '-1'; allowed: 0 or more");
  EXPECT_EQ(shards({{60, 201}, {41, 0}, {0, 0}}),
            "sharded-parameter-server: bytes of a message: got '100'; allowed: 101 to 101");
  EXPECT_EQ(shards({{60, 200}, {40, 0}, {0, 0}}),
            "sharded-parameter-server: pull bytes: got '201'; allowed: 200 to 200");
  EXPECT_EQ(wrong(CollectiveAlgorithm::ParameterServer,
                  [](auto& s) {
                    s.shards = {{100, 201}};
                  }),
            "parameter-server: shards: got '1'; allowed: 0 to 0");
  EXPECT_EQ(wrong(CollectiveAlgorithm::HierarchicalAllGather, [](auto& s) { s.group = 0; }),
            "hierarchical-allgather: group: got '0'; allowed: 1 or more");
  EXPECT_EQ(wrong(CollectiveAlgorithm::BlockSparse, [](auto& s) { s.slots = 0; }),
            "block-sparse: slots: got '0'; allowed: 1 or more");
  EXPECT_EQ(wrong(CollectiveAlgorithm::BlockSparse, [](auto& s) { s.blockBytes = 0; }),
            "block-sparse: bytes of a block: got '0'; allowed: 1 or more");
  EXPECT_EQ(wrong(CollectiveAlgorithm::SparseTree, [](auto& s) { s.sumBytes = {1}; }),
            "sparse-tree: bytes of sums: got '1 sizes'; allowed: 2 for 4 workers");
  EXPECT_EQ(
      wrong(CollectiveAlgorithm::RecursiveDoublingAllGather, [](auto& s) { s.bytes.assign(6, 1); }),
      "recursive-doubling-allgather: workers: got '6'; allowed: a power of two; "
      "bruck-allgather takes any number");
  EXPECT_EQ(wrong(CollectiveAlgorithm::HalvingReduceScatter, [](auto& s) { s.bytes[3] = 1; }),
            "halving-reduce-scatter: bytes of worker 3: got '1'; allowed: 100, as worker 0: summed "
            "messages have one length");
  EXPECT_EQ(wrong(CollectiveAlgorithm::AllToAllV, [](auto& s) { s.pairBytes.pop_back(); }),
            "all-to-allv: bytes of pairs: got '15 sizes'; allowed: 16, one for each sender and "
            "receiver of 4 workers");
  EXPECT_EQ(wrong(CollectiveAlgorithm::AllToAllV, [](auto& s) { s.pairBytes[7] = -2; }),
            "all-to-allv: bytes from worker 1 to worker 3: got '-2'; allowed: 0 or more");
  EXPECT_EQ(wrong(CollectiveAlgorithm::DirectAllReduce, [](auto& s) { s.window = 0; }),
            "direct-allreduce: window: got '0'; allowed: 1 or more");
  EXPECT_EQ(wrong(CollectiveAlgorithm::InNetworkAllReduce, [](auto& s) { s.parents.clear(); }),
            "in-network-allreduce: needs a placement with aggregators (switches that sum)");
  EXPECT_EQ(wrong(CollectiveAlgorithm::InNetworkAllReduce, [](auto& s) { s.parents[4] = 7; }),
            "in-network-allreduce: parents of node 0 form a cycle");
  EXPECT_EQ(wrong(CollectiveAlgorithm::InNetworkAllReduce, [](auto& s) { s.parents[5] = -1; }),
            "in-network-allreduce: roots: got '2'; allowed: 1 to 1");
  EXPECT_EQ(wrong(CollectiveAlgorithm::InNetworkAllReduce, [](auto& s) { s.parents[0] = 1; }),
            "in-network-allreduce: parent of node 0: got '1'; allowed: 6 to 8");
  EXPECT_NE(MessageOf([] { ParseCollective("tree"); }).find("got 'tree'"), std::string::npos);
}

}  // namespace
}  // namespace legacy::fabric::collective_test