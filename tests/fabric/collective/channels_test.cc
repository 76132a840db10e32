// Rings of several channels: their orders, what each rail carries, and their closed forms.
#include "ns3-module/fabric/collective/channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "ns3-module/fabric/collective/alpha-beta.h"
#include "ns3-module/fabric/collective/closed-form.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/step/step.h"
#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/collective/collective_testing.h"

namespace legacy::fabric::channels_test {
namespace {

constexpr std::array kRings = {CollectiveAlgorithm::RingAllReduce,
                               CollectiveAlgorithm::RingAllGather,
                               CollectiveAlgorithm::RingReduceScatter};

CollectiveSpec Rings(CollectiveAlgorithm algorithm, int workers, int group, int channels,
                     int64_t bytes) {
  CollectiveSpec spec;
  spec.algorithm = algorithm;
  spec.bytes.assign(workers, bytes);
  spec.group = group;
  spec.channels = channels;
  return spec;
}

// A fabric of nodes with a rail for each of their hosts.
struct RailFabric {
  RailFabric(int nodes, int gpus, int64_t node_rate, int64_t rail_rate)
      : topology(BuildRailOptimised(nodes, gpus, nodes, {node_rate, 300, 0}, {rail_rate, 700, 0},
                                    {rail_rate, 700, 0})),
        placement(MakePlacement({"packed", nodes * gpus}, topology)),
        paths{{2, node_rate, 300}, {2, rail_rate, 700}} {
    request.topology = &topology;
    request.placement = &placement;
    request.transport.connections = ConnectionKind::Cold;
  }

  StepTiming Run(const CollectiveSpec& spec, EngineFactory engine) const {
    return TimeAlone(spec, std::move(engine), request);
  }

  Topology topology;
  Placement placement;
  NodePaths paths;
  EngineRequest request;
};

TEST(ChannelOrder, IsAPermutationThatPassesWholeNodesAndLeavesByTheRailItEntersBy) {
  for (int workers : {2, 3, 8, 13, 24, 32}) {
    for (int group : {1, 2, 4, 8, 100}) {
      for (int channels : {1, 2, 8, 11}) {
        const ChannelOrder order(workers, group, channels);
        for (int channel = 0; channel < channels; ++channel) {
          std::set<int> seen;
          for (int position = 0; position < workers; ++position) {
            const int worker = order.WorkerAt(channel, position);
            EXPECT_TRUE(seen.insert(worker).second);
            EXPECT_EQ(order.PositionOf(channel, worker), position);
            EXPECT_EQ(worker / group, position / group) << "whole nodes, in order";
            if (channels == 1) {
              EXPECT_EQ(worker, position);
            }
            // From one full node to the next the ring stays on one rail.
            const int next = order.WorkerAt(channel, (position + 1) % workers);
            const bool crosses = next / group == worker / group + 1;
            if (channels > 1 && crosses && workers % group == 0) {
              EXPECT_EQ(next % group, worker % group);
            }
          }
          EXPECT_EQ(*seen.begin(), 0);
          EXPECT_EQ(*seen.rbegin(), workers - 1);
        }
      }
    }
  }
}

// Every channel is checked as the only ring is: no worker is done before it has everything, and the
// bytes that are counted are those that are sent. Together they send what one ring does.
TEST(Channels, DeliverEverythingAndSendTheBytesOfOneRing) {
  for (CollectiveAlgorithm algorithm : kRings) {
    for (int workers : {2, 3, 8, 13}) {
      for (int channels : {2, 3, 8}) {
        for (int64_t bytes : {0, 1, 1003, 100'003}) {
          CollectiveSpec spec = Rings(algorithm, workers, 4, channels, bytes);
          if (algorithm == CollectiveAlgorithm::RingAllGather) spec.bytes[1] = 17;
          Trial trial;
          trial.Run(spec, workers + bytes);
          for (int w = 0; w < workers; ++w) {
            EXPECT_EQ(trial.heard_when_done[w].count(), static_cast<size_t>(workers));
          }
          EXPECT_EQ(EstimatedFlows(spec), static_cast<double>(trial.flows));
          const std::vector<int64_t> sent = BytesSent(spec);
          spec.channels = 1;
          const std::vector<int64_t> one = BytesSent(spec);
          EXPECT_EQ(std::accumulate(sent.begin(), sent.end(), int64_t{0}),
                    std::accumulate(one.begin(), one.end(), int64_t{0}));
        }
      }
    }
  }
  const CollectiveSpec even = Rings(CollectiveAlgorithm::RingAllReduce, 16, 4, 8, 16 * 8 * 100);
  EXPECT_EQ(BytesSent(even), std::vector<int64_t>(16, 2 * 15 * 8 * 100)) << "2 (N-1)/N M each";
}

// Trees of several channels deliver everything, and only workers of one rail send to other nodes in
// a channel: each rail carries the same bytes if there are as many channels as workers of a node.
TEST(Channels, OfDoubleTreesStayOnTheirRails) {
  for (int workers : {2, 3, 8, 13, 16}) {
    for (int group : {1, 2, 4, 20}) {
      for (int channels : {2, 4}) {
        CollectiveSpec spec =
            Rings(CollectiveAlgorithm::DoubleTreeAllReduce, workers, group, channels, 100'000);
        spec.pieceBytes = 4000;
        std::map<int, int64_t> across;  // bytes that leave nodes, by rail
        Trial trial;
        trial.on_send = [&](const Flow& flow) {
          if (flow.source / group == flow.destination / group) return;
          across[flow.source % group] += flow.bytes;
          if (workers % group == 0) {
            EXPECT_EQ(flow.source % group, flow.destination % group);
          }
        };
        trial.Run(spec, workers + channels);
        EXPECT_EQ(EstimatedFlows(spec), static_cast<double>(trial.flows));
        for (int w = 0; w < workers; ++w) {
          EXPECT_EQ(trial.heard_when_done[w].count(), static_cast<size_t>(workers));
        }
        if (workers % group == 0 && channels % group == 0 && group < workers) {
          // Each of the trees' links between nodes carries its part up and down.
          const int64_t links = 2 * (workers / group - 1);
          for (int rail = 0; rail < group; ++rail) EXPECT_EQ(across[rail], links * 100'000 / group);
        }
      }
    }
  }
}

TEST(Channels, OfDoubleTreesUseAllNicsOfANode) {
  const RailFabric fabric(4, 4, 400'000'000'000, 10'000'000'000);
  CollectiveSpec spec = Rings(CollectiveAlgorithm::DoubleTreeAllReduce, 16, 4, 1, 64'000'000);
  const TimeNs one = fabric.Run(spec, MakeFlowEngine).total;
  spec.channels = 4;
  const TimeNs four = fabric.Run(spec, MakeFlowEngine).total;
  EXPECT_GT(static_cast<double>(one) / static_cast<double>(four), 2);
  const Transport& transport = fabric.request.transport;
  EXPECT_GT(ClosedFormTime(spec, fabric.paths.across, transport), 0);
  EXPECT_GT(AlphaBetaSeconds(spec, 1e-6, 1e9), 0);
}

// Worker w keeps block w of the sum, whatever the rings' orders: the last parts that each receives
// in each channel, put together, are its balanced block.
TEST(Channels, OfAReduceScatterLeaveEachWorkerItsBlock) {
  constexpr int kWorkers = 8;
  constexpr int64_t kBytes = 100'003;
  const CollectiveSpec spec = Rings(CollectiveAlgorithm::RingReduceScatter, kWorkers, 4, 3, kBytes);
  std::map<int, int64_t> kept;
  Trial trial;
  trial.on_delivered = [&](const Flow& flow) {
    const bool last = (flow.tag & 0xFFFF'FFFF) == kWorkers - 2;
    if (last) kept[flow.destination] += flow.bytes;
  };
  trial.Run(spec, 5);
  for (int w = 0; w < kWorkers; ++w) EXPECT_EQ(kept[w], kBytes / kWorkers + (w < 3 ? 1 : 0));
}

// Every rail carries the same bytes each way, which are those of the closed form: 2 (N-1)/N M for
// each ring that crosses it, and nothing passes a spine. One ring has all its crossings on a spine.
TEST(Channels, LoadAllRailsEquallyAndNoSpine) {
  constexpr int kNodes = 4;
  constexpr int kGpus = 4;
  constexpr int kWorkers = kNodes * kGpus;
  const RailFabric fabric(kNodes, kGpus, 80'000'000'000, 10'000'000'000);
  const int64_t block = 1000;
  for (int channels : {kGpus, 2 * kGpus}) {
    for (const auto& engine : {MakeAnalyticEngine, MakeFlowEngine}) {
      const CollectiveSpec spec = Rings(CollectiveAlgorithm::RingAllReduce, kWorkers, kGpus,
                                        channels, block * kWorkers * channels);
      const StepTiming timing = fabric.Run(spec, engine);
      const Transport& transport = fabric.request.transport;
      // Each rail switch receives from each node the rounds of the rings that leave by it.
      const int64_t each = 2 * (kWorkers - 1) * (channels / kGpus) *
                           (transport.WireBytes(block) + transport.AckWireBytes(block));
      int rails = 0;
      for (size_t link = 0; link < timing.links.size(); ++link) {
        const int node = fabric.topology.To(static_cast<int>(link));
        const std::string& name = fabric.topology.NodeName(node);
        const bool from_host = fabric.topology.IsHost(fabric.topology.From(static_cast<int>(link)));
        if (name.rfind("spine", 0) == 0) {
          EXPECT_EQ(timing.links[link].bytes, 0);
        }
        if (name.rfind("rail", 0) == 0 && from_host) {
          ++rails;
          EXPECT_EQ(timing.links[link].bytes, each)
              << fabric.topology.LinkName(static_cast<int>(link));
        }
      }
      EXPECT_EQ(rails, kWorkers);
    }
  }
}

TEST(Channels, TakeTheTimeOfTheirClosedFormOnAStar) {
  for (int channels : {1, 2, 3, 8}) {
    for (int64_t block : {1, 1448, 40'000}) {
      for (CollectiveAlgorithm algorithm : kRings) {
        const Topology topology = BuildStar(8, {1'000'000'000, 7'000, 0});
        const Placement placement = MakePlacement({"packed", 8}, topology);
        EngineRequest request;
        request.topology = &topology;
        request.placement = &placement;
        request.transport.connections = ConnectionKind::Cold;
        const bool gathers = algorithm == CollectiveAlgorithm::RingAllGather;
        const CollectiveSpec spec =
            Rings(algorithm, 8, 4, channels, block * channels * (gathers ? 1 : 8));
        StepTraffic traffic;
        traffic.workers = 8;
        traffic.deviceFree.assign(8, 0);
        traffic.buckets.push_back({traffic.deviceFree, {{spec, {}}}, {}});
        const auto time = static_cast<double>(
            StepSimulator(MakeAnalyticEngine, request).Simulate(traffic, 0).total);
        const auto form =
            static_cast<double>(ClosedFormTime(spec, {2, 1'000'000'000, 7'000}, request.transport));
        // The rings of several channels meet at NICs in an order that the closed form does not
        // model.
        EXPECT_NEAR(time, form, channels == 1 ? 0 : 0.01 * form)
            << ToString(algorithm) << ", " << channels << " channels, " << block;
      }
    }
  }
}

TEST(Channels, TakeTheTimeOfTheirClosedFormOnRails) {
  for (const auto& [nodes, gpus] : {std::pair{2, 4}, {4, 4}, {4, 8}, {6, 4}}) {
    for (int factor : {8, 2}) {
      const RailFabric fabric(nodes, gpus, factor * int64_t{10'000'000'000}, 10'000'000'000);
      for (int channels : {2, 4, 8}) {
        for (int64_t block : {20, 1448, 40'000}) {
          const int workers = nodes * gpus;
          const CollectiveSpec spec = Rings(CollectiveAlgorithm::RingAllReduce, workers, gpus,
                                            channels, block * workers * channels);
          const auto form =
              static_cast<double>(RailRingsTime(spec, fabric.paths, fabric.request.transport));
          const double ratio =
              static_cast<double>(fabric.Run(spec, MakeAnalyticEngine).total) / form;
          EXPECT_GT(ratio, 0.96) << workers << " workers, " << channels << ", " << block;
          EXPECT_LT(ratio, 1.06) << workers << " workers, " << channels << ", " << block;
        }
      }
    }
  }
}

// As many rings as rails take one share of the message each over a NIC of their own.
TEST(Channels, UseAllNicsOfANode) {
  const RailFabric fabric(4, 4, 400'000'000'000, 10'000'000'000);
  CollectiveSpec spec = Rings(CollectiveAlgorithm::RingAllReduce, 16, 4, 1, 64'000'000);
  const TimeNs one = fabric.Run(spec, MakeAnalyticEngine).total;
  spec.channels = 4;
  const TimeNs four = fabric.Run(spec, MakeAnalyticEngine).total;
  EXPECT_GT(static_cast<double>(one) / static_cast<double>(four), 3.5);
}

// The closed form counts, and the simulation sends, whole lines with their flags.
TEST(Protocols, SendWholeLinesWithTheirFlags) {
  EXPECT_EQ(CostsOf(ProtocolFamily::Ring, Protocol::None).Sent(1001), 1001);
  EXPECT_EQ(CostsOf(ProtocolFamily::Ring, Protocol::Simple).Sent(1001), 1001);
  EXPECT_EQ(CostsOf(ProtocolFamily::Ring, Protocol::LL).Sent(1001), 2008) << "251 lines of 4 + 4";
  EXPECT_EQ(CostsOf(ProtocolFamily::Ring, Protocol::LL128).Sent(1200), 1280);
  EXPECT_EQ(CostsOf(ProtocolFamily::Ring, Protocol::LL128).Sent(0), 0);
  constexpr int kWorkers = 8;
  for (const auto& [protocol, factor] :
       {std::pair{Protocol::LL, 2.0}, {Protocol::LL128, 128.0 / 120}, {Protocol::Simple, 1.0}}) {
    CollectiveSpec spec =
        Rings(CollectiveAlgorithm::RingAllReduce, kWorkers, 4, 4, int64_t{4} * kWorkers * 12'000);
    spec.protocol = protocol;
    const auto expected = static_cast<int64_t>(2 * (kWorkers - 1) * 4 * 12'000 * factor);
    EXPECT_EQ(BytesSent(spec), std::vector<int64_t>(kWorkers, expected)) << ToString(protocol);
    EXPECT_EQ(ParseProtocol(ToString(protocol), "--protocol"), protocol);
  }
  EXPECT_EQ(MessageOf([] { ParseProtocol("LL", "--protocol"); }),
            "--protocol: got 'LL'; allowed: auto, none, ll, ll128, simple");
}

// A message beyond a chunk takes turns, in which nothing is lost, counted twice or early.
TEST(Protocols, CutLongMessagesInChunks) {
  for (CollectiveAlgorithm algorithm : kRings) {
    for (Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
      const int64_t chunk = CostsOf(ProtocolFamily::NodesRing, protocol).chunkBytes;
      for (int turns : {1, 3}) {
        const bool gathers = algorithm == CollectiveAlgorithm::RingAllGather;
        CollectiveSpec spec = Rings(algorithm, 5, 2, 2, turns * chunk * 2 * (gathers ? 1 : 5));
        spec.protocol = protocol;
        int64_t largest = 0;
        Trial trial;
        trial.on_send = [&](const Flow& flow) { largest = std::max(largest, flow.bytes); };
        trial.Run(spec, 7);
        EXPECT_LE(largest, CostsOf(ProtocolFamily::NodesRing, protocol).Sent(chunk + 1));
        EXPECT_EQ(EstimatedFlows(spec), static_cast<double>(trial.flows));
        const int rounds = algorithm == CollectiveAlgorithm::RingAllReduce ? 8 : 4;
        EXPECT_EQ(trial.flows, 5 * 2 * turns * rounds);
        for (int w = 0; w < 5; ++w) EXPECT_EQ(trial.heard_when_done[w].count(), 5u);
      }
    }
  }
}

// The time of an empty ring on a fabric without delays is NCCL's own: its base latency, and its
// latency of each of 2 (N - 1) steps, 2 (K - 1) of which cross nodes. A message of one line per
// block adds less than a nanosecond a hop here.
TEST(Protocols, TakeTheLatencyOfNcclsModel) {
  constexpr int kNodes = 4;
  constexpr int kGpus = 4;
  constexpr int kWorkers = kNodes * kGpus;
  const int64_t rate = 100'000'000'000'000;
  Topology topology =
      BuildRailOptimised(kNodes, kGpus, kNodes, {rate, 0, 0}, {rate, 0, 0}, {rate, 0, 0});
  const Placement placement = MakePlacement({"packed", kWorkers}, topology);
  EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport.connections = ConnectionKind::Cold;
  for (const auto& [protocol, start, inside, across] : {std::tuple{Protocol::LL, 6.6, 1.0, 2.7},
                                                        {Protocol::LL128, 14.0, 1.9, 4.0},
                                                        {Protocol::Simple, 8.4, 3.4, 14.0}}) {
    CollectiveSpec spec = Rings(CollectiveAlgorithm::RingAllReduce, kWorkers, kGpus, kGpus,
                                int64_t{4} * kWorkers * kGpus);
    spec.protocol = protocol;
    StepTraffic traffic;
    traffic.workers = kWorkers;
    traffic.deviceFree.assign(kWorkers, 0);
    traffic.buckets.push_back({traffic.deviceFree, {{spec, {}}}, {}});
    const double us =
        1e-3 *
        static_cast<double>(StepSimulator(MakeAnalyticEngine, request).Simulate(traffic, 0).total);
    // The longest way of 2 (N - 1) hops passes 2 K crossings, NCCL's model counts 2 (K - 1).
    const double most = start + 2 * kNodes * across + 2 * (kWorkers - 1 - kNodes) * inside;
    EXPECT_NEAR(us, most, 1) << ToString(protocol);
    const double nccl = start + 2 * (kNodes - 1) * across + 2 * (kWorkers - kNodes) * inside;
    EXPECT_NEAR(us, nccl, 2 * across) << ToString(protocol);
  }
}

// Trees send whole lines of flags and data, in pieces no longer than a chunk, and lose nothing.
TEST(Protocols, OfDoubleTreesSendFlagsAndCutChunks) {
  for (const auto& [protocol, factor] :
       {std::pair{Protocol::LL, 2.0}, {Protocol::LL128, 128.0 / 120}, {Protocol::Simple, 1.0}}) {
    // Pieces of 30,000 and of 1,200,000 bytes are wanted.
    for (int64_t piece : {30'000, 1'200'000}) {
      CollectiveSpec spec =
          Rings(CollectiveAlgorithm::DoubleTreeAllReduce, 12, 4, 2, int64_t{4} * 2'400'000);
      spec.pieceBytes = piece;
      const std::vector<int64_t> plain = BytesSent(spec);
      spec.protocol = protocol;
      const int64_t chunk = CostsOf(ProtocolFamily::Tree, protocol).chunkBytes;
      int64_t largest = 0;
      Trial trial;
      trial.on_send = [&](const Flow& flow) { largest = std::max(largest, flow.bytes); };
      trial.Run(spec, 3);
      EXPECT_LE(largest, CostsOf(ProtocolFamily::Tree, protocol).Sent(std::min(chunk, piece)));
      EXPECT_EQ(EstimatedFlows(spec), static_cast<double>(trial.flows));
      for (int w = 0; w < 12; ++w) {
        EXPECT_EQ(trial.heard_when_done[w].count(), 12u);
        // A last line of each piece may be filled in part.
        const double most = static_cast<double>(plain[w]) * factor;
        EXPECT_GE(trial.sent[w], most - 1) << ToString(protocol);
        EXPECT_LE(trial.sent[w], 1.01 * most) << ToString(protocol);
      }
    }
  }
}

// An empty tree takes NCCL's latency to the nanosecond: the base, and up and down the chain of a
// node and the levels of nodes.
TEST(Protocols, OfDoubleTreesTakeTheLatencyOfNcclsModel) {
  constexpr int64_t kRate = 100'000'000'000'000;
  const Topology topology =
      BuildRailOptimised(4, 4, 4, {kRate, 0, 0}, {kRate, 0, 0}, {kRate, 0, 0});
  const Placement placement = MakePlacement({"packed", 16}, topology);
  EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  for (const auto& [protocol, us] : {std::pair{Protocol::LL, 6.8 + 2 * (3 * 0.6 + 2 * 5.0)},
                                     {Protocol::LL128, 14 + 2 * (3 * 1.25 + 2 * 8.5)},
                                     {Protocol::Simple, 8.4 + 2 * (3 * 4.0 + 2 * 14.0)}}) {
    CollectiveSpec spec = Rings(CollectiveAlgorithm::DoubleTreeAllReduce, 16, 4, 4, 0);
    spec.protocol = protocol;
    const TimeNs time = TimeAlone(spec, MakeAnalyticEngine, request).total;
    EXPECT_EQ(time, std::llround(1000 * us)) << ToString(protocol);
    EXPECT_EQ(ClosedFormTime(spec, {2, kRate, 0}, request.transport), time) << ToString(protocol);
  }
}

TEST(Protocols, TakeTheTimeOfTheirClosedForm) {
  for (const auto& [nodes, gpus] : {std::pair{2, 4}, {4, 4}, {4, 8}}) {
    const RailFabric fabric(nodes, gpus, 800'000'000'000, 100'000'000'000);
    for (int channels : {4, 8}) {
      for (Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
        for (int64_t block : {120, 12'000, 1'200'000}) {
          const int workers = nodes * gpus;
          CollectiveSpec spec = Rings(CollectiveAlgorithm::RingAllReduce, workers, gpus, channels,
                                      block * workers * channels);
          spec.protocol = protocol;
          const auto form =
              static_cast<double>(RailRingsTime(spec, fabric.paths, fabric.request.transport));
          const double ratio =
              static_cast<double>(fabric.Run(spec, MakeAnalyticEngine).total) / form;
          EXPECT_GT(ratio, 0.92) << ToString(protocol) << ", " << workers << ", " << block;
          EXPECT_LT(ratio, 1.08) << ToString(protocol) << ", " << workers << ", " << block;
        }
      }
    }
  }
}

// With relays every message still arrives once, with the bytes that are counted, no flow changes
// rails between nodes, and a node sends one message to each destination, which has the bytes of all
// its workers' messages.
TEST(Relays, CarryEveryMessageOnTheRailOfItsDestination) {
  for (CollectiveAlgorithm algorithm :
       {CollectiveAlgorithm::AllToAll, CollectiveAlgorithm::AllToAllV}) {
    for (int workers : {8, 11}) {
      for (int group : {1, 4, 20}) {
        for (int window : {1, 64}) {
          CollectiveSpec spec = AnySpec(algorithm, workers, 1001);
          spec.group = group;
          spec.window = window;
          spec.relays = true;
          Trial trial;
          trial.relays = true;
          std::map<std::pair<int, int>, std::vector<int64_t>> crossing;  // by node and destination
          trial.on_send = [&](const Flow& flow) {
            const bool crosses = flow.source / group != flow.destination / group;
            if (!crosses) return;
            crossing[{flow.source / group, flow.destination}].push_back(flow.bytes);
            if (workers % group == 0) {
              EXPECT_EQ(flow.source % group, flow.destination % group);
            }
          };
          trial.Run(spec, workers + group);
          EXPECT_EQ(EstimatedFlows(spec), static_cast<double>(trial.flows));
          for (int w = 0; w < workers; ++w) {
            EXPECT_EQ(trial.heard_when_done[w].count(), static_cast<size_t>(workers));
          }
          for (const auto& [way, messages] : crossing) {
            const auto [node, to] = way;
            const int first = node * group;
            const int size = std::min(group, workers - first);
            const bool joined = to % group < size;
            EXPECT_EQ(messages.size(), joined ? 1u : static_cast<size_t>(size));
            int64_t bytes = 0;
            for (int from = first; from < first + size; ++from) {
              bytes += spec.pairBytes.empty() ? 1001 / workers + (to < 1001 % workers ? 1 : 0)
                                              : spec.pairBytes[from * workers + to];
            }
            EXPECT_EQ(std::accumulate(messages.begin(), messages.end(), int64_t{0}), bytes);
          }
        }
      }
    }
  }
}

TEST(Relays, KeepAnAllToAllFromTheSpines) {
  const RailFabric fabric(4, 4, 400'000'000'000, 10'000'000'000);
  CollectiveSpec spec = Rings(CollectiveAlgorithm::AllToAll, 16, 4, 1, 16 * 100'000);
  const auto spine_bytes = [&](const StepTiming& timing) {
    int64_t bytes = 0;
    for (size_t link = 0; link < timing.links.size(); ++link) {
      const int to = fabric.topology.To(static_cast<int>(link));
      if (fabric.topology.NodeName(to).rfind("spine", 0) == 0) bytes += timing.links[link].bytes;
    }
    return bytes;
  };
  const StepTiming direct = fabric.Run(spec, MakeFlowEngine);
  spec.relays = true;
  const StepTiming relayed = fabric.Run(spec, MakeFlowEngine);
  EXPECT_GT(spine_bytes(direct), 0);
  EXPECT_EQ(spine_bytes(relayed), 0);
  // Each NIC sends 12 messages across nodes either way: the time is not shorter than theirs.
  const TimeNs least = 12 * FlowTime({1, 10'000'000'000, 0}, 100'000, fabric.request.transport);
  EXPECT_GE(relayed.total, least);
  EXPECT_LE(relayed.total, 1.25 * least);
  spec.algorithm = CollectiveAlgorithm::RingAllReduce;
  EXPECT_NE(MessageOf([&] { CheckCollective(spec); }).find("relays: got 'on'"), std::string::npos);
}

TEST(Channels, BadInputIsNamed) {
  CollectiveSpec spec = Rings(CollectiveAlgorithm::RingAllReduce, 4, 2, 0, 100);
  EXPECT_EQ(MessageOf([&] { CheckCollective(spec); }),
            "ring-allreduce: channels: got '0'; allowed: 1 to 64");
  spec.channels = 65;
  EXPECT_NE(MessageOf([&] { CheckCollective(spec); }), "");
  spec.channels = 2;
  spec.group = 0;
  EXPECT_NE(MessageOf([&] { CheckCollective(spec); }).find("group: got '0'"), std::string::npos);
  spec.group = 2;
  spec.algorithm = CollectiveAlgorithm::DirectAllReduce;
  EXPECT_EQ(MessageOf([&] { CheckCollective(spec); }),
            "direct-allreduce: channels: got '2'; allowed: 1 to 1");
  EXPECT_NE(MessageOf([&] { RailRingsTime(spec, {}, {}); }), "");
  spec.channels = 1;
  spec.protocol = Protocol::LL;
  EXPECT_EQ(
      MessageOf([&] { CheckCollective(spec); }),
      "direct-allreduce: protocol: got 'll'; allowed: none; rings and double trees have others");
  spec.channels = 2;
  spec.protocol = Protocol::None;
  spec.algorithm = CollectiveAlgorithm::RingAllReduce;
  spec.group = 4;
  EXPECT_NE(MessageOf([&] { RailRingsTime(spec, {}, {}); }).find("workers: got '4'"),
            std::string::npos);
  // Candidates without channels are taken as they are.
  EXPECT_EQ(FastestCollective({CollectiveAlgorithm::DirectAllReduce}, spec, {2, 1000, 0}, {},
                              {2, Protocol::LL, {}})
                .algorithm,
            CollectiveAlgorithm::DirectAllReduce);
}

}  // namespace
}  // namespace legacy::fabric::channels_test
