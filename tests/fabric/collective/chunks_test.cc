// The chunks of trees and NVLS, and the pace at which threads handle them.
#include "ns3-module/fabric/collective/chunks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ns3-module/fabric/collective/closed-form.h"
#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/collective/collective_testing.h"

namespace legacy::fabric::chunks_test {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

CollectiveSpec Nodes(CollectiveAlgorithm algorithm, Protocol protocol, int nodes, int64_t bytes) {
  CollectiveSpec spec = AnySpec(algorithm, 8 * nodes, bytes);
  spec.group = 8;
  spec.channels = 8;
  spec.protocol = protocol;
  return spec;
}

// calcCollChunking of NCCL's src/enqueue.cc, by hand.
TEST(Chunks, AreThoseOfNccl) {
  const auto tree = [](Protocol protocol, int nodes, int64_t bytes) {
    return TreeChunk(Nodes(CollectiveAlgorithm::DoubleTreeAllReduce, protocol, nodes, bytes));
  };
  EXPECT_EQ(tree(Protocol::None, 4, kMiB), 0);
  EXPECT_EQ(tree(Protocol::LL, 4, kMiB), 32 * kKiB);
  EXPECT_EQ(tree(Protocol::Simple, 4, kMiB), 512 * kKiB);
  // 4 nodes: 3.8 levels, so that fewer than 30.4 chunks are halved down to 128 KiB, and fewer than
  // 7.6 down to 32 KiB: 576,000 is halved three times, and twice more for 4 MiB (7.3 chunks of
  // 36,000 bytes in each of 16 blocks) and less.
  EXPECT_EQ(tree(Protocol::LL128, 4, 4 * kMiB), 18'000);
  EXPECT_EQ(tree(Protocol::LL128, 4, 8 * kMiB), 36'000);
  EXPECT_EQ(tree(Protocol::LL128, 4, 16 * kMiB), 72'000);
  EXPECT_EQ(tree(Protocol::LL128, 4, 1024 * kMiB), 576'000);
  const auto nvls = [](int nodes, int64_t bytes) {
    CollectiveSpec spec = Nodes(CollectiveAlgorithm::NvlsAllReduce, Protocol::Simple, nodes, bytes);
    return NvlsChunk(spec, nodes, 8) / kBlocksOfNvls;
  };
  // 16 blocks with 8 heads: 64 rounds of 128 KiB are 1 GiB, 8 of 64 KiB 64 MiB, 2 of 32 KiB 8 MiB.
  EXPECT_EQ(nvls(1, 8 * kMiB - 1), 16 * kKiB);
  EXPECT_EQ(nvls(1, 8 * kMiB), 32 * kKiB);
  EXPECT_EQ(nvls(1, 64 * kMiB), 64 * kKiB);
  EXPECT_EQ(nvls(1, 1024 * kMiB), 128 * kKiB);
  EXPECT_EQ(nvls(2, 8 * kMiB - 1), 32 * kKiB);
  EXPECT_EQ(nvls(2, 8 * kMiB), 64 * kKiB);
  EXPECT_EQ(nvls(2, 64 * kMiB), 128 * kKiB);
  EXPECT_EQ(nvls(4, 1024 * kMiB), 64 * kKiB);
}

// Threads that are slower than the links take their time for every hop of a ring, and for every
// piece of a tree, whose hops overlap.
TEST(Pace, LengthensHopsOfRingsAndPiecesOfTrees) {
  constexpr int64_t kRate = 100'000'000'000'000;
  const Topology topology = BuildStar(8, {kRate, 0, 0});
  const Placement placement = MakePlacement({"packed", 8}, topology);
  EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  const auto time = [&](CollectiveSpec spec) {
    return static_cast<double>(TimeAlone(spec, MakeAnalyticEngine, request).total);
  };
  CollectiveSpec ring =
      Nodes(CollectiveAlgorithm::RingAllReduce, Protocol::LL128, 1, int64_t{8} * 8 * 12'000);
  const double plain = time(ring);
  ring.pace.inside = 0.1;
  EXPECT_NEAR(time(ring) - plain, 14 * 0.1 * 12'800, 14) << "14 messages of 100 lines";
  EXPECT_NEAR(static_cast<double>(ClosedFormTime(ring, {2, kRate, 0}, request.transport)),
              time(ring), 0.01 * plain);

  CollectiveSpec tree = Nodes(CollectiveAlgorithm::DoubleTreeAllReduce, Protocol::LL128, 1,
                              int64_t{8} * 2 * 10 * 12'000);
  tree.pieceBytes = 12'000;
  const double fast = time(tree);
  tree.pace.inside = 1;
  // The leaf handles 10 pieces of 12,800 bytes one after the other; others follow it at once.
  EXPECT_NEAR(time(tree) - fast, 10 * 12'800, 0.02 * 10 * 12'800);
}

}  // namespace
}  // namespace legacy::fabric::chunks_test
