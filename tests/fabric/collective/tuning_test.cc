// NCCL's cost model, computed by hand from src/graph/tuning.cc, and its choices as users saw them.
#include "ns3-module/fabric/collective/tuning.h"

#include <gtest/gtest.h>

#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/collective/collective_testing.h"

namespace legacy::fabric::tuning_test {
namespace {

// Nodes of 8 H100: NVLink, and a NIC of 400 Gbit/s for each, as NCCL's search finds them.
constexpr NodeLinks kH100 = {370.8, 48, 8};

CollectiveSpec SpecFor(CollectiveAlgorithm algorithm, Protocol protocol, int nodes, int64_t bytes) {
  CollectiveSpec spec = AnySpec(algorithm, 8 * nodes, bytes);
  spec.group = 8;
  spec.channels = TakesChannels(algorithm) ? 8 : 1;
  spec.protocol = protocol;
  if (algorithm == CollectiveAlgorithm::RingAllReduce) {
    spec.parents.assign(8 * nodes,
                        8 * nodes);  // the switches of nodes sum, if they are asked to
  }
  return spec;
}

double Us(CollectiveAlgorithm algorithm, Protocol protocol, int nodes, int64_t bytes) {
  return NcclMicroseconds(SpecFor(algorithm, protocol, nodes, bytes), kH100).value();
}

NcclChoice Choice(int nodes, int64_t bytes) {
  return ChooseAsNccl(NcclAlgorithms(Payload::Sum, true),
                      SpecFor(CollectiveAlgorithm::RingAllReduce, Protocol::None, nodes, bytes),
                      kH100)
      .value();
}

TEST(NcclModel, IsNcclsFormula) {
  using enum CollectiveAlgorithm;
  constexpr int64_t kMiB = 1 << 20;
  // Ring: base, 2 (N - 1) hops, 2 (K - 1) of them between nodes; N / (2 (N - 1)) of the bandwidth.
  EXPECT_NEAR(Us(RingAllReduce, Protocol::LL, 1, kMiB),
              6.6 + 14 * 0.6 + kMiB / (1e3 * 141 * 8 / 14), 1e-9);
  EXPECT_NEAR(Us(RingAllReduce, Protocol::LL128, 4, 16 * kMiB),
              14 + 56 * 1.9 + 6 * 4.0 + 16 * kMiB / (1e3 * 8 * 36.7 * 32 / 62), 1e-9);
  EXPECT_NEAR(Us(RingAllReduce, Protocol::Simple, 4, 16 * kMiB),
              1.4 * (8.4 + 56 * 3.4 + 6 * 14) + 16 * kMiB / (1e3 * 384 * 32 / 62), 1e-9);
  EXPECT_NEAR(Us(RingAllReduce, Protocol::Simple, 4, 512),
              8.4 + 56 * 3.4 + 6 * 14 + 512e-3 / 384 * 62 / 32, 1e-9)
      << "no plateau for blocks below 64 bytes";
  EXPECT_NEAR(Us(RingAllReduce, Protocol::LL, 4, kMiB),
              6.6 + 56 * 1.0 + 6 * 2.7 + kMiB / (1e3 * 20.4 * 32 / 62), 1e-9);
  // All-gathers count the whole result, and have no plateau.
  EXPECT_NEAR(Us(RingAllGather, Protocol::Simple, 4, kMiB),
              8.4 + 28 * 3.4 + 3 * 14 + 32 * kMiB / (1e3 * 384 * 32 / 31), 1e-9);
  // Tree: the chain in a node and log2 of the nodes, up and down; half of the bandwidth, less for
  // short messages.
  EXPECT_NEAR(Us(DoubleTreeAllReduce, Protocol::LL128, 4, kMiB),
              14 + 2 * (7 * 1.25 + 2 * 8.5) +
                  kMiB / (1e3 * std::min(8 * 36.0 * 120 / 128, 8 * 29.0) * 0.6 / 2),
              1e-9);
  // NVLS: 85 % of NVLink, over which G + 1 parts travel.
  EXPECT_NEAR(Us(NvlsAllReduce, Protocol::Simple, 1, kMiB),
              25 + kMiB / (1e3 * 8 * (370.8 / 9 * 0.85 * 7 / 8 * 2) * 8 / 14), 1e-9);
  EXPECT_NEAR(Us(NvlsAllReduce, Protocol::Simple, 4, kMiB),
              25 + 4 * 20.9 + kMiB / (1e3 * 8 * 45.5 * 32 / 62), 1e-9);
  EXPECT_FALSE(NcclMicroseconds(SpecFor(DirectAllReduce, Protocol::None, 4, kMiB), kH100));
  EXPECT_FALSE(NcclMicroseconds(SpecFor(RingAllReduce, Protocol::None, 4, kMiB), kH100));
}

// The choices that nccl-tests #309 reports for 8 H100: a ring by LL up to 1 MiB, and NVLS from 2
// MiB on.
TEST(NcclModel, ChoosesAsNcclDidOnOneNode) {
  for (int64_t bytes = 8; bytes <= (int64_t{16} << 30); bytes *= 2) {
    const NcclChoice choice = Choice(1, bytes);
    if (bytes <= 1 << 20) {
      EXPECT_EQ(choice.algorithm, CollectiveAlgorithm::RingAllReduce) << bytes;
      EXPECT_EQ(choice.protocol, Protocol::LL) << bytes;
    } else {
      EXPECT_EQ(choice.algorithm, CollectiveAlgorithm::NvlsAllReduce) << bytes;
      EXPECT_EQ(choice.protocol, Protocol::Simple) << bytes;
    }
  }
}

// nccl #1455: NVLS is faster than rings with 5 GPUs of a node and more, and not with 2 and 3. (With
// 4 both are equal.)
TEST(NcclModel, GivesLongMessagesOfFewGpusToRings) {
  for (const int gpus : {2, 3, 5, 6, 7, 8}) {
    CollectiveSpec spec = AnySpec(CollectiveAlgorithm::RingAllReduce, gpus, int64_t{2} << 30);
    spec.group = gpus;
    spec.channels = 24;
    spec.parents.assign(gpus, gpus);
    const NcclChoice choice = ChooseAsNccl(NcclAlgorithms(Payload::Sum, true), spec, kH100).value();
    EXPECT_EQ(choice.algorithm,
              gpus <= 3 ? CollectiveAlgorithm::RingAllReduce : CollectiveAlgorithm::NvlsAllReduce)
        << gpus;
  }
}

// With many nodes trees take short messages and rings the longest (nccl #1649: rings degrade at
// scale); NVLS takes those in between.
TEST(NcclModel, GivesLongMessagesOfManyNodesToRings) {
  EXPECT_EQ(Choice(32, 1024).algorithm, CollectiveAlgorithm::DoubleTreeAllReduce);
  EXPECT_EQ(Choice(32, 64 << 20).algorithm, CollectiveAlgorithm::NvlsAllReduce);
  EXPECT_EQ(Choice(32, int64_t{64} << 30).algorithm, CollectiveAlgorithm::RingAllReduce);
  EXPECT_EQ(Choice(32, int64_t{64} << 30).protocol, Protocol::Simple);
  EXPECT_NE(Choice(32, 1024).reason.find("double-tree-allreduce ll "), std::string::npos);
}

TEST(SetChannels, TakesNcclsProtocolWhereNoneIsGiven) {
  CollectiveSpec spec = SpecFor(CollectiveAlgorithm::RingAllReduce, Protocol::None, 1, 1024);
  SetChannels(spec, {8, std::nullopt, kH100});
  EXPECT_EQ(spec.protocol, Protocol::LL);
  spec.bytes.assign(8, int64_t{1} << 30);
  SetChannels(spec, {8, std::nullopt, kH100});
  EXPECT_EQ(spec.protocol, Protocol::Simple);
  EXPECT_EQ(spec.channels, 8);
  spec.algorithm = CollectiveAlgorithm::DirectAllReduce;
  SetChannels(spec, {8, std::nullopt, kH100});
  EXPECT_EQ(spec.protocol, Protocol::None);
  EXPECT_EQ(spec.channels, 1);
  spec.algorithm = CollectiveAlgorithm::NvlsAllReduce;
  SetChannels(spec, {8, Protocol::LL, kH100});
  EXPECT_EQ(spec.protocol, Protocol::None) << "NCCL has NVLS by Simple alone";
  spec.protocol = Protocol::LL;
  EXPECT_EQ(MessageOf([&] { CheckCollective(spec); }),
            "nvls-allreduce: protocol: got 'll'; allowed: none, simple");
}

// NCCL runs each of C channels twice, and gives short messages fewer of these 2 C thread blocks:
// one for every 512 threads with `least` bytes each, and for every 32 KiB of traffic.
TEST(SetChannels, GivesShortMessagesFewerChannels) {
  using enum CollectiveAlgorithm;
  const auto channels = [](CollectiveAlgorithm algorithm, Protocol protocol, int64_t bytes) {
    CollectiveSpec spec = SpecFor(algorithm, Protocol::None, 1, bytes);
    SetChannels(spec, {12, protocol, kH100});
    return spec.channels;
  };
  // A ring of 8 by LL: 8 x 8 bytes for each of 512 threads, 32 KiB.
  EXPECT_EQ(channels(RingAllReduce, Protocol::LL, 1024), 1);
  EXPECT_EQ(channels(RingAllReduce, Protocol::LL, 4 * 32 << 10), 2);
  EXPECT_EQ(channels(RingAllReduce, Protocol::LL, (4 * 32 << 10) + (32 << 10)), 3);
  EXPECT_EQ(channels(RingAllReduce, Protocol::LL, 24 * 32 << 10), 12);
  // LL128: 8 bytes for each of 640 threads would be 5,120, but a block has at least 16 KiB.
  EXPECT_EQ(channels(RingAllReduce, Protocol::LL128, 64 << 10), 2);
  EXPECT_EQ(channels(RingAllReduce, Protocol::LL128, 384 << 10), 12);
  // Simple: 64 bytes for each of 512 threads.
  EXPECT_EQ(channels(RingAllReduce, Protocol::Simple, 128 << 10), 2);
  EXPECT_EQ(channels(DoubleTreeAllReduce, Protocol::LL, 16 << 10), 2);
  EXPECT_EQ(channels(RingAllReduce, Protocol::None, 1024), 12) << "as asked for";
}

// The step of a ring's channel takes its latency and the bytes at the lesser of two rates: that of
// its threads, and its share of the link.
TEST(SetChannels, ChargesWhatThreadsTakeLongerThanLinks) {
  CollectiveSpec spec = SpecFor(CollectiveAlgorithm::RingAllReduce, Protocol::None, 1, 64 << 20);
  SetChannels(spec, {12, Protocol::LL, kH100});
  EXPECT_NEAR(spec.pace.inside, 0.5 * 12 / 141 - 12 / 370.8, 1e-12);
  SetChannels(spec, {12, Protocol::LL128, kH100});
  EXPECT_EQ(spec.pace.inside, 0) << "12 channels of 36.7 GB/s are faster than NVLink";
  SetChannels(spec, {12, Protocol::Simple, kH100});
  EXPECT_EQ(spec.pace.inside, 0);
  spec.bytes.assign(8, 128 << 10);  // half of the blocks of 4 channels
  SetChannels(spec, {12, Protocol::LL, kH100});
  EXPECT_EQ(spec.channels, 2);
  EXPECT_NEAR(spec.pace.inside, 0.5 * 12 / 141 - 2 / 370.8, 1e-12);

  spec = SpecFor(CollectiveAlgorithm::DoubleTreeAllReduce, Protocol::None, 4, 64 << 20);
  SetChannels(spec, {8, Protocol::LL128, kH100});
  EXPECT_NEAR(spec.pace.across, 4 * 120 / 128.0 / 29, 1e-12) << "a quarter of 29 GB/s up a tree";
  SetChannels(spec, {8, Protocol::None, kH100});
  EXPECT_EQ(spec.pace.across, 0);
  spec = SpecFor(CollectiveAlgorithm::NvlsAllReduce, Protocol::None, 2, 64 << 20);
  SetChannels(spec, {8, Protocol::Simple, kH100});
  EXPECT_NEAR(spec.pace.across, 4 * 15 / 16.0 / 57.7, 1e-12);
}

TEST(Gpus, AreToldFromTheirNvLink) {
  EXPECT_EQ(GenerationOf(120), GpuGeneration::Volta);
  EXPECT_EQ(GenerationOf(240), GpuGeneration::Ampere);
  EXPECT_EQ(GenerationOf(360), GpuGeneration::Hopper);
  EXPECT_EQ(GenerationOf(0), GpuGeneration::Hopper) << "a node is one GPU";
  EXPECT_FALSE(HasNvls(GpuGeneration::Ampere));
  // 8 A100: rings by LL, LL128 and Simple, but no NVLS (8 V100 likewise).
  for (const double inside : {120.0, 240.0}) {
    for (int64_t bytes = 1024; bytes <= int64_t{1} << 30; bytes *= 32) {
      const CollectiveSpec spec =
          SpecFor(CollectiveAlgorithm::RingAllReduce, Protocol::None, 1, bytes);
      const auto choice =
          ChooseAsNccl(NcclAlgorithms(Payload::Sum, true), spec, {inside, 0, 1}).value();
      EXPECT_EQ(choice.algorithm, CollectiveAlgorithm::RingAllReduce) << bytes;
    }
  }
}

// One channel for each rail between nodes; inside a node NVLink divided by the rates that NCCL's
// search tries: 6 of 20 GB/s, 12 of 20 and 12 of 30.
TEST(NcclChannels, AreThoseOfItsSearch) {
  EXPECT_EQ(NcclChannels(kH100, 32, 8), 8);
  EXPECT_EQ(NcclChannels({370.8, 48, 4}, 32, 8), 4);
  EXPECT_EQ(NcclChannels({370.8, 0, 1}, 8, 8), 12);
  EXPECT_EQ(NcclChannels({240, 0, 1}, 8, 8), 12);
  EXPECT_EQ(NcclChannels({120, 0, 1}, 8, 8), 6);
}

TEST(NodeLinks, AreThoseOfTheFabric) {
  const Topology rails = BuildRailOptimised(2, 4, 2, {800'000'000'000, 0, 0},
                                            {200'000'000'000, 0, 0}, {200'000'000'000, 0, 0});
  const Placement placement = MakePlacement({"packed", 8}, rails);
  const NodeLinks links = NodeLinksOf(rails, placement, 4);
  EXPECT_DOUBLE_EQ(links.inside, 100);
  EXPECT_DOUBLE_EQ(links.rail, 25);
  EXPECT_EQ(links.rails, 4);
  const Topology star = BuildStar(4, {8'000'000'000, 0, 0});
  const NodeLinks one = NodeLinksOf(star, MakePlacement({"packed", 4}, star), 4);
  EXPECT_DOUBLE_EQ(one.inside, 1);
  EXPECT_EQ(one.rail, 0);
}

// A switch for each node, next to all of its workers; a node without one is named.
TEST(Placement, FindsTheSwitchesOfNodes) {
  const Topology rails = BuildRailOptimised(3, 4, 2, {8'000, 0, 0}, {1'000, 0, 0}, {1'000, 0, 0});
  PlacementRequest where;
  where.workers = 12;
  where.aggregation = Aggregation::Nodes;
  const Placement placement = MakePlacement(where, rails);
  ASSERT_EQ(placement.aggregators.size(), 3u);
  for (int worker = 0; worker < 12; ++worker) {
    EXPECT_EQ(placement.parents[worker], 12 + worker / 4);
    EXPECT_EQ(rails.NodeName(placement.NodeOf(placement.parents[worker])).rfind("node", 0), 0u);
  }
  where.node = 6;
  EXPECT_NE(MessageOf([&] {
              MakePlacement(where, rails);
            }).find("workers 0 to 5, a node, have no switch next to all of them"),
            std::string::npos);
  where.node = 1;
  EXPECT_TRUE(MakePlacement(where, rails).aggregators.empty());
  CollectiveSpec spec = AnySpec(CollectiveAlgorithm::NvlsAllReduce, 8, 100);
  spec.parents.clear();
  EXPECT_NE(MessageOf([&] { CheckCollective(spec); }).find("nvls-allreduce: needs a placement"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::fabric::tuning_test
