#include "trainer/clock/clock.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/import/make.h"
#include "tests/message_of.h"
#include "trainer/clock/operation_cost.h"

namespace legacy::clock_test {
namespace {

using fabric::CollectiveAlgorithm;

// Returns a profile in which 1 flop, 1 byte or 1 element takes 1 ns; only kernels have launch
// times.
Profile ToyProfile() {
  Profile profile;
  profile.name = "toy";
  profile.launches = Launches::kPerLayer;
  for (const char* kind : {"conv", "linear", "elementwise"}) profile.operations[kind] = {1e9, 1e9};
  profile.kernels["enc"] = {100e-9, 1e-9};
  profile.kernels["dec"] = {200e-9, 1e-9};
  profile.kernels[kOptimizerKernel] = {1000e-9, 1e-9};
  return profile;
}

// Returns the costs of conv (layer 0: 4 elements) -> elementwise -> linear (layer 1: 6 elements).
std::vector<OperationCost> ToyCosts() {
  return {
      {"conv", 1000, 10, 16, {0}}, {"elementwise", 0, 500, 0, {}}, {"linear", 3000, 10, 24, {1}}};
}

const std::vector<int64_t> kNumels = {4, 6};

SentCall ToyCall(Collective collective, std::vector<int64_t> bytes) {
  SentCall call;
  call.collective = collective;
  call.bytes = std::move(bytes);
  call.encode = {{"enc", 400, 1}};
  call.decode = {{"dec", 300, 2}};
  return call;
}

StepWork ToyWork() {
  StepWork work{.step = 0, .workers = 2, .batch_size = 2};
  work.buckets.push_back({{1}, 6, {ToyCall(Collective::kAllGather, {40, 40})}});
  work.buckets.push_back(
      {{0},
       4,
       {ToyCall(Collective::kBroadcast, {0, 20}), ToyCall(Collective::kAllReduce, {32, 32})}});
  work.buckets[1].calls[0].root = 1;
  return work;
}

// Four workers around a switch, timed in closed form.
struct Star {
  fabric::EngineRequest Request() const {
    fabric::EngineRequest request;
    request.topology = &topology;
    request.placement = &placement;
    request.transport = fabric::MakeTransport("datacenter");
    return request;
  }

  fabric::Topology topology = fabric::MakeTopology({.text = "star:hosts=4"});
  fabric::Placement placement = fabric::MakePlacement({"packed", 4}, topology);
  fabric::StepSimulator simulator{fabric::MakeAnalyticEngine, Request()};
};

TEST(Clock, ReadyTimesByHand) {
  const Clock clock(ToyProfile(), ToyCosts(), kNumels);
  const PricedStep step = clock.Price(ToyWork(), {});
  // The update takes 1000 + 10 ns, the forward pass 2000 + 1000 + 6000. In the backward pass,
  // linear takes 12000, elementwise 2000 and conv 4000.
  const TimeNs forward = 10010;
  EXPECT_EQ(step.traffic.buckets[0].ready, (std::vector<TimeNs>(2, forward + 12000 + 500)));
  EXPECT_EQ(step.traffic.buckets[1].ready, (std::vector<TimeNs>(2, forward + 12500 + 6000 + 500)));
  EXPECT_EQ(step.traffic.deviceFree, (std::vector<TimeNs>(2, forward + 18000 + 1000)));
  EXPECT_EQ(step.compute, (std::vector<TimeNs>(2, forward + 18000)));
  EXPECT_EQ(step.encode, (std::vector<TimeNs>(2, 1000)));
  EXPECT_EQ(step.late_encode, (std::vector<TimeNs>(2, 500)));
  for (const auto& bucket : step.call_encode) {
    for (const std::vector<TimeNs>& call : bucket) {
      EXPECT_EQ(call, (std::vector<TimeNs>(2, 500)));
    }
  }
  EXPECT_EQ(step.call_encode[1].size(), 2u);
  // Decoding takes 2 launches of 200 and 300 elements; between collective calls the next encoding
  // comes on top.
  EXPECT_EQ(step.traffic.buckets[0].decode, (std::vector<TimeNs>(2, 700)));
  EXPECT_EQ(step.traffic.buckets[1].calls[1].computeBefore, (std::vector<TimeNs>(2, 1200)));
  EXPECT_EQ(step.traffic.buckets[1].decode, (std::vector<TimeNs>(2, 700)));
  EXPECT_NEAR(clock.ComputeSeconds(2), (forward + 18000) * 1e-9, 1e-15);
}

TEST(Clock, AllKernelsOfTheUpdateCount) {
  const double one = Clock(ToyProfile(), ToyCosts(), kNumels).ComputeSeconds(2);
  const Clock two(ToyProfile(), ToyCosts(), kNumels, {}, {kOptimizerKernel, kOptimizerKernel});
  EXPECT_NEAR(two.ComputeSeconds(2) - one, 1010e-9, 1e-15);
  EXPECT_THROW(Clock(ToyProfile(), ToyCosts(), kNumels, {}, {"optimizer.adam"}), Error);
}

// All passes except the last come before it, each with a sum of gradients: 10 elements in 110 ns.
TEST(Clock, OnlyTheLastPassOverlapsTheExchange) {
  Profile profile = ToyProfile();
  profile.kernels["accumulate"] = {100e-9, 1e-9};
  const Clock clock(profile, ToyCosts(), kNumels);
  const PricedStep one = clock.Price(ToyWork(), {});
  StepWork work = ToyWork();
  work.passes = 3;
  const PricedStep three = clock.Price(work, {});
  const TimeNs before = 2 * (9000 + 18000 + 110);
  for (size_t b = 0; b < 2; ++b) {
    EXPECT_EQ(three.traffic.buckets[b].ready[0], one.traffic.buckets[b].ready[0] + before);
    EXPECT_EQ(three.traffic.buckets[b].decode, one.traffic.buckets[b].decode);
  }
  EXPECT_EQ(three.compute[0], one.compute[0] + before);
  EXPECT_EQ(three.encode, one.encode);
  const std::vector<double> factors = {1, 2};
  EXPECT_EQ(clock.ComputeTimes(0, 2, 3, factors),
            (std::vector<TimeNs>{three.compute[0], 2 * three.compute[0]}));
}

// If a step says how weights are updated, the clock's own kernels do not count; and a step without
// an exchange ends with its computing.
TEST(Clock, StepsMayHaveUpdatesOfTheirOwn) {
  const Clock clock(ToyProfile(), ToyCosts(), kNumels);
  StepWork work = ToyWork();
  work.update = WorkList{{kOptimizerKernel, 10}, {"enc", 900}};
  const PricedStep step = clock.Price(work, {});
  EXPECT_EQ(step.traffic.buckets[0].ready[0], 10010 + 1000 + 12000 + 500);
  work.update = WorkList{{kOptimizerKernel, 10}};
  EXPECT_EQ(clock.Price(work, {}).compute, clock.Price(ToyWork(), {}).compute);
  const Clock fast(Faster(ToyProfile(), 4, 2), ToyCosts(), kNumels);
  work.update = WorkList{{kOptimizerKernel, 10}, {"enc", 900}};
  EXPECT_EQ(4 * fast.Price(work, {}).compute[0], clock.Price(work, {}).compute[0] + 2)
      << "computing follows the device, to rounding";
  work.update = WorkList{};
  work.buckets.clear();
  EXPECT_EQ(clock.Price(work, {}).traffic.deviceFree[0], 9000 + 18000);
}

TEST(Clock, FusedLaunchesAreOneSetForEachBucket) {
  Profile profile = ToyProfile();
  profile.launches = Launches::kFused;
  const PricedStep step = Clock(profile, ToyCosts(), kNumels).Price(ToyWork(), {});
  EXPECT_EQ(step.traffic.buckets[0].decode, (std::vector<TimeNs>(2, 500)));
}

// The norm is known after the whole gradient is, so that no bucket is encoded before.
TEST(Clock, WorkOnTheWholeGradientDelaysEncoding) {
  const Clock clock(ToyProfile(), ToyCosts(), kNumels);
  StepWork work = ToyWork();
  work.whole_gradient = {{"enc", 900}};
  const PricedStep step = clock.Price(work, {});
  const TimeNs computed = 10010 + 18000;
  EXPECT_EQ(step.traffic.buckets[0].ready, (std::vector<TimeNs>(2, computed + 1000 + 500)));
  EXPECT_EQ(step.traffic.buckets[1].ready, (std::vector<TimeNs>(2, computed + 1000 + 1000)));
  EXPECT_EQ(step.compute, (std::vector<TimeNs>(2, computed)));
  EXPECT_EQ(step.encode, (std::vector<TimeNs>(2, 2000)));
  EXPECT_EQ(step.traffic.deviceFree, (std::vector<TimeNs>(2, computed + 2000)));
}

TEST(Clock, StragglersScaleAllDeviceTime) {
  const Clock clock(ToyProfile(), ToyCosts(), kNumels);
  const StepWork work = ToyWork();
  const PricedStep plain = clock.Price(work, {});
  const PricedStep slow = clock.Price(work, std::vector<double>{1, 2.5});
  for (size_t b = 0; b < 2; ++b) {
    const auto& bucket = slow.traffic.buckets[b];
    const auto& base = plain.traffic.buckets[b];
    EXPECT_EQ(bucket.ready[0], base.ready[0]);
    EXPECT_EQ(2 * bucket.ready[1], 5 * base.ready[1]);
    EXPECT_EQ(2 * bucket.decode[1], 5 * base.decode[1]);
  }
  EXPECT_EQ(slow.traffic.buckets[1].calls[1].computeBefore[1], 3000);
  EXPECT_EQ(2 * slow.late_encode[1], 5 * plain.late_encode[1]);
  EXPECT_THROW(clock.Price(work, std::vector<double>{1, 0}), Error);
  EXPECT_THROW(clock.Price(work, std::vector<double>{1, std::numeric_limits<double>::infinity()}),
               Error);
  EXPECT_THROW(clock.Price(work, std::vector<double>{1}), Error);
}

TEST(Clock, DroppedWorkersStopWhenTheyAreDropped) {
  const Clock clock(ToyProfile(), ToyCosts(), kNumels);
  const std::vector<double> factors = {1, 3};
  const std::vector<TimeNs> times = clock.ComputeTimes(0, 2, 1, factors);
  EXPECT_EQ(times, (std::vector<TimeNs>{28010, 84030}));
  const PricedStep all = clock.Price(ToyWork(), factors);
  StepWork work = ToyWork();
  work.active_workers = {0};
  work.buckets[0].calls[0].bytes = {40, 0};
  work.buckets[1].calls[0].root = 0;
  work.buckets[1].calls[0].bytes = {20, 0};
  work.buckets[1].calls[1].bytes = {32, 0};
  const PricedStep step = clock.Price(work, factors, times[0]);
  for (size_t b = 0; b < 2; ++b) {
    EXPECT_EQ(step.traffic.buckets[b].ready,
              (std::vector<TimeNs>{all.traffic.buckets[b].ready[0], 28010}));
    EXPECT_EQ(step.traffic.buckets[b].decode, all.traffic.buckets[b].decode) << "as slow as ever";
  }
  EXPECT_EQ(step.traffic.deviceFree, (std::vector<TimeNs>{29010, 28010}));
  EXPECT_EQ(step.compute, (std::vector<TimeNs>{28010, 28010}));
  EXPECT_EQ(step.encode, (std::vector<TimeNs>{1000, 0}));
  EXPECT_EQ(step.late_encode, (std::vector<TimeNs>{500, 0}));
  EXPECT_EQ(step.call_encode[1][1], (std::vector<TimeNs>{500, 0}));
  EXPECT_EQ(step.traffic.buckets[1].calls[1].computeBefore, (std::vector<TimeNs>{1200, 2100}));
  // Sums keep their length with fewer workers; a dropped worker's message to gather or push is
  // empty.
  EXPECT_EQ(step.traffic.buckets[0].calls[0].collective.bytes, (std::vector<int64_t>{40, 0}));
  EXPECT_EQ(step.traffic.buckets[1].calls[1].collective.bytes, (std::vector<int64_t>{32, 32}));
  const Clock server(ToyProfile(), ToyCosts(), kNumels, {Transfer::kParameterServer});
  const auto pushed = server.Price(work, factors, times[0]).traffic.buckets[1].calls[1].collective;
  EXPECT_EQ(pushed.bytes, (std::vector<int64_t>{32, 0}));
  EXPECT_EQ(pushed.pullBytes, 32);
}

// Without its one slow worker of four, the step is as fast as without stragglers, except for
// decoding.
TEST(Clock, WithoutItsStragglerAStepEndsEarlier) {
  Star star;
  const Clock clock(ToyProfile(), ToyCosts(), kNumels);
  StepWork work = ToyWork();
  work.workers = 4;
  work.batch_size = 1000;  // 14 ms
  for (BucketWork& bucket : work.buckets) {
    for (SentCall& call : bucket.calls) call.bytes.assign(4, 1000);
  }
  const std::vector<double> slow = {1, 1, 5, 1};
  const TimeNs barrier = star.simulator.Simulate(clock.Price(work, slow).traffic, 0).total;
  const TimeNs equal = star.simulator.Simulate(clock.Price(work, {}).traffic, 0).total;
  work.active_workers = {0, 1, 3};
  for (BucketWork& bucket : work.buckets) {
    for (SentCall& call : bucket.calls) call.bytes[2] = 0;
  }
  const TimeNs decided = clock.ComputeTimes(0, 1000, 1, slow)[0];
  const PricedStep priced = clock.Price(work, slow, decided);
  const fabric::StepTiming timing = star.simulator.Simulate(priced.traffic, 0);
  EXPECT_GT(barrier, 5 * decided);
  EXPECT_LT(timing.total, equal + 20'000) << "slower decoding alone";
  EXPECT_GT(timing.total, decided);
  EXPECT_EQ(SplitStep(priced, timing).mean.Total(), timing.total);
}

TEST(Clock, BackwardStopsAtTheFirstTrainedOperation) {
  std::vector<OperationCost> costs = ToyCosts();
  costs.insert(costs.begin(), {"elementwise", 0, 100000, 0, {}});
  const Clock with(ToyProfile(), costs, kNumels);
  const Clock without(ToyProfile(), ToyCosts(), kNumels);
  EXPECT_NEAR(with.ComputeSeconds(1) - without.ComputeSeconds(1), 100000e-9, 1e-12);
}

TEST(Clock, CallsBecomeCollectives) {
  const PricedStep step = Clock(ToyProfile(), ToyCosts(), kNumels).Price(ToyWork(), {});
  const auto& buckets = step.traffic.buckets;
  EXPECT_EQ(buckets[0].calls[0].collective.algorithm, CollectiveAlgorithm::RingAllGather);
  EXPECT_EQ(buckets[1].calls[0].collective.algorithm, CollectiveAlgorithm::Broadcast);
  EXPECT_EQ(buckets[1].calls[0].collective.root, 1);
  EXPECT_EQ(buckets[1].calls[1].collective.algorithm, CollectiveAlgorithm::RingAllReduce);
  EXPECT_EQ(buckets[1].calls[1].collective.bytes, (std::vector<int64_t>{32, 32}));
}

TEST(Clock, CallsTravelAsTheOptionsSay) {
  TransferOptions options;
  options.all_reduce = CollectiveAlgorithm::HierarchicalAllReduce;
  options.all_gather = CollectiveAlgorithm::DirectAllGather;
  options.group = 2;
  const auto algorithms = [&] {
    const PricedStep step = Clock(ToyProfile(), ToyCosts(), kNumels, options).Price(ToyWork(), {});
    const auto& buckets = step.traffic.buckets;
    EXPECT_EQ(buckets[0].calls[0].collective.group, options.transfer == Transfer::kPeers ? 2 : 1);
    return std::vector{buckets[0].calls[0].collective.algorithm,
                       buckets[1].calls[0].collective.algorithm,
                       buckets[1].calls[1].collective.algorithm};
  };
  EXPECT_EQ(algorithms(),
            (std::vector{CollectiveAlgorithm::DirectAllGather, CollectiveAlgorithm::Broadcast,
                         CollectiveAlgorithm::HierarchicalAllReduce}));
  // When two workers exchange 32 bytes, sending one frame at once is faster than two in turn.
  options.all_reduce = options.all_gather = std::nullopt;
  options.path = {2, 1'000'000'000, 10'000};
  EXPECT_EQ(algorithms()[0], CollectiveAlgorithm::RingAllGather) << "equally fast: the first";
  SentCall gather;
  gather.bytes = {10, 20, 30};  // no power of two
  EXPECT_EQ(CollectiveOf(options, gather, 100).algorithm, CollectiveAlgorithm::DirectAllGather);
  // The bytes of each pair travel; without them, parts are equal.
  SentCall exchange;
  exchange.collective = Collective::kAllToAll;
  exchange.bytes = {8, 8};
  EXPECT_EQ(CollectiveOf(options, exchange, 100).algorithm, CollectiveAlgorithm::AllToAll);
  exchange.pair_bytes = {1, 7, 3, 5};
  const fabric::CollectiveSpec spec = CollectiveOf(options, exchange, 100);
  EXPECT_EQ(spec.algorithm, CollectiveAlgorithm::AllToAllV);
  EXPECT_EQ(fabric::BytesSent(spec), (std::vector<int64_t>{7, 3}));
  EXPECT_NE(MessageOf([&] {
              CollectiveOf({.transfer = Transfer::kParameterServer}, exchange, 100);
            }).find("collective"),
            std::string::npos);
  // Blocks travel to the workers, or to servers in their place.
  SentCall blocks;
  blocks.collective = Collective::kBlockSparse;
  blocks.bytes = {2056, 1028};
  blocks.pull = 3084;
  blocks.blocks = BlockStream{.bytes = 1028, .slots = 2};
  fabric::CollectiveSpec streamed = CollectiveOf(options, blocks, 100);
  EXPECT_EQ(streamed.algorithm, CollectiveAlgorithm::BlockSparse);
  EXPECT_EQ(streamed.servers, 0);
  EXPECT_EQ(streamed.slots, 2);
  EXPECT_EQ(streamed.blockBytes, 1028);
  EXPECT_EQ(fabric::BytesReceived(streamed), (std::vector<int64_t>{1542 + 514, 1542 + 1028}));
  streamed = CollectiveOf({.transfer = Transfer::kParameterServer}, blocks, 100);
  EXPECT_EQ(streamed.servers, 1);
  EXPECT_EQ(fabric::BytesReceived(streamed), std::vector<int64_t>(2, 3084));
  options.transfer = Transfer::kShardedParameterServer;
  options.servers = 3;
  EXPECT_EQ(CollectiveOf(options, blocks, 100).servers, 3);
  EXPECT_EQ(algorithms(), std::vector(3, CollectiveAlgorithm::ShardedParameterServer));
}

TEST(Clock, RingsHaveTheChannelsOfTheOptionsAndOthersOne) {
  TransferOptions options;
  options.channels.channels = 8;
  options.all_gather = CollectiveAlgorithm::DirectAllGather;
  const PricedStep step = Clock(ToyProfile(), ToyCosts(), kNumels, options).Price(ToyWork(), {});
  const auto& buckets = step.traffic.buckets;
  EXPECT_EQ(buckets[0].calls[0].collective.channels, 1) << "direct";
  EXPECT_EQ(buckets[1].calls[0].collective.channels, 1) << "broadcast";
  EXPECT_EQ(buckets[1].calls[1].collective.channels, 8) << "ring";
}

// Without algorithm and protocol each call has those that NCCL takes for its bytes, NVLS where the
// switches of nodes sum.
TEST(Clock, CallsHaveTheAlgorithmAndProtocolThatNcclTakes) {
  TransferOptions options;
  options.all_reduce = std::nullopt;
  options.group = 8;
  options.channels = {8, std::nullopt, {370.8, 48, 8}};
  SentCall call;
  call.collective = Collective::kAllReduce;
  const auto spec = [&](int64_t bytes) {
    call.bytes.assign(8, bytes);
    return CollectiveOf(options, call, 100);
  };
  EXPECT_EQ(spec(1000).algorithm, CollectiveAlgorithm::RingAllReduce);
  EXPECT_EQ(spec(1000).protocol, fabric::Protocol::LL);
  EXPECT_EQ(spec(1 << 30).algorithm, CollectiveAlgorithm::RingAllReduce);
  EXPECT_EQ(spec(1 << 30).protocol, fabric::Protocol::Simple);
  options.parents.assign(8, 8);
  options.parents.push_back(-1);
  EXPECT_EQ(spec(1 << 30).algorithm, CollectiveAlgorithm::NvlsAllReduce);
  EXPECT_EQ(spec(1 << 30).protocol, fabric::Protocol::Simple);
  EXPECT_EQ(spec(1 << 30).channels, 1);
}

TEST(Transfers, RefuseAlgorithmsThatCannotCarryACall) {
  EXPECT_EQ(ParseAlgorithm("auto", "network.allreduce", Collective::kAllReduce), std::nullopt);
  EXPECT_EQ(ParseAlgorithm("in-network-allreduce", "o", Collective::kAllReduce),
            CollectiveAlgorithm::InNetworkAllReduce);
  const auto refusal = [](const char* text, Collective collective) {
    try {
      ParseAlgorithm(text, "network.x", collective);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string gathers =
      "allowed: auto, ring-allgather, direct-allgather, "
      "hierarchical-allgather, recursive-doubling-allgather, bruck-allgather";
  EXPECT_EQ(
      refusal("ring-allreduce", Collective::kAllGather),
      "network.x: got 'ring-allreduce'; " + gathers + "; it carries no concatenation of messages");
  EXPECT_NE(refusal("sparse-tree", Collective::kAllGather).find("change what is trained"),
            std::string::npos);
  EXPECT_NE(refusal("scatter-reduce-allgather", Collective::kAllReduce).find("change what"),
            std::string::npos);
  EXPECT_NE(refusal("parameter-server", Collective::kAllReduce).find("network.aggregation"),
            std::string::npos);
  EXPECT_EQ(refusal("star", Collective::kAllGather), "network.x: got 'star'; " + gathers);
  StepWork work = ToyWork();
  work.buckets[1].calls[1].reduction = Reduction::kRequantisedSum;
  const PricedStep priced = Clock(ToyProfile(), ToyCosts(), kNumels).Price(work, {});
  const fabric::CollectiveSpec& spec = priced.traffic.buckets[1].calls[1].collective;
  // An algorithm is chosen that can carry the call, whatever the option.
  EXPECT_EQ(spec.algorithm, CollectiveAlgorithm::ScatterReduceAllGather);
  EXPECT_EQ(spec.sumBytes, std::vector<int64_t>{spec.bytes[0]});
}

TEST(Clock, AlgorithmsOfAListCarryWhatTheyCan) {
  const TransferOptions chosen =
      ParseAlgorithms("direct-allgather,halving-doubling-allreduce,broadcast", "--collective");
  EXPECT_EQ(chosen.transfer, Transfer::kPeers);
  EXPECT_EQ(chosen.all_gather, CollectiveAlgorithm::DirectAllGather);
  EXPECT_EQ(chosen.all_reduce, CollectiveAlgorithm::HalvingDoublingAllReduce);
  const TransferOptions server = ParseAlgorithms("parameter-server", "--collective");
  SentCall gather;
  gather.bytes = {10, 20, 30};
  // Workers push what they have; they pull all messages, at most the dense size.
  EXPECT_EQ(CollectiveOf(server, gather, 100).pullBytes, 60);
  EXPECT_EQ(CollectiveOf(server, gather, 10).pullBytes, 40);
  for (const char* text : {"ring", "in-network-allreduce", "all-to-all", "sparse-tree"}) {
    EXPECT_NE(MessageOf([&] { ParseAlgorithms(text, "--collective"); }).find("ring-allreduce"),
              std::string::npos)
        << text;
  }
  EXPECT_NE(MessageOf([&] { ParseAlgorithms("parameter-server,broadcast", "--c"); }).find("alone"),
            std::string::npos);
}

// A server that compresses answers later, and with a message of its own.
TEST(Clock, ServersWorkBeforeTheyAnswer) {
  const TransferOptions options{Transfer::kParameterServer};
  const Clock clock(ToyProfile(), ToyCosts(), kNumels, options);
  StepWork work = ToyWork();
  const auto call = [&]() -> SentCall& { return work.buckets[1].calls[0]; };
  const auto spec = [&] { return clock.Price(work, {}).traffic.buckets[1].calls[0].collective; };
  EXPECT_EQ(spec().serve, 0);
  call().reduction = Reduction::kServed;
  call().pull = 7;
  call().serve = work.buckets[1].calls[1].encode;
  EXPECT_EQ(spec().pullBytes, 7);
  EXPECT_EQ(spec().serve, clock.Price(work, {}).call_encode[1][1][0]);
  EXPECT_GT(spec().serve, 0);
  // Equal calls of layers that are sent together add up.
  const std::vector<BucketWork> pair = {work.buckets[1], work.buckets[1]};
  const BucketWork merged = MergeUnits(pair).front();
  EXPECT_EQ(merged.calls[0].pull, 14);
  // A call without slices is for one server, whatever it is called.
  TransferOptions sharded{Transfer::kShardedParameterServer};
  EXPECT_TRUE(CollectiveOf(sharded, call(), 10).shards.empty());
  sharded.servers = 2;
  for (const TransferOptions& other : {TransferOptions{Transfer::kPeers}, sharded}) {
    EXPECT_NE(MessageOf([&] {
                CollectiveOf(other, call(), 10);
              }).find("allowed: parameter-server, as the server compresses"),
              std::string::npos);
  }
}

// Each of several servers has its slices of all units, and its part of their work.
TEST(Clock, ServersOfSlicesWorkAtOnce) {
  TransferOptions options{Transfer::kShardedParameterServer};
  options.servers = 2;
  const Clock clock(ToyProfile(), ToyCosts(), kNumels, options);
  StepWork work = ToyWork();
  SentCall& call = work.buckets[1].calls[0];
  call.collective = Collective::kAllGather;
  call.reduction = Reduction::kServed;
  call.bytes = {9, 9};
  call.pull = 7;
  call.serve = work.buckets[1].calls[1].encode;
  call.served = {{5, 4}, {4, 3}};
  const std::vector<BucketWork> pair = {work.buckets[1], work.buckets[1]};
  work.buckets[1] = MergeUnits(pair).front();
  const auto spec = clock.Price(work, {}).traffic.buckets[1].calls[0].collective;
  EXPECT_EQ(spec.algorithm, CollectiveAlgorithm::ShardedParameterServer);
  EXPECT_EQ(spec.pullBytes, 14);
  ASSERT_EQ(spec.shards.size(), 2u);
  EXPECT_EQ(spec.shards[0].push, 10);
  EXPECT_EQ(spec.shards[0].pull, 8);
  EXPECT_EQ(spec.shards[1].push, 8);
  EXPECT_EQ(spec.shards[1].pull, 6);
  EXPECT_EQ(spec.serve, clock.Price(work, {}).call_encode[1][1][0] / 2);
  for (const int servers : {1, 3}) {
    options.servers = servers;
    EXPECT_NE(MessageOf([&] {
                CollectiveOf(options, call, 10);
              }).find("sharded-parameter-server with 2 servers (network.servers)"),
              std::string::npos);
  }
}

TEST(Clock, ParameterServerPulls) {
  for (Pull pull : {Pull::kDense, Pull::kUnion}) {
    const Clock clock(ToyProfile(), ToyCosts(), kNumels, {Transfer::kParameterServer, pull});
    StepWork work = ToyWork();
    const auto pulled = [&](int bucket, int call) {
      const auto spec = clock.Price(work, {}).traffic.buckets[bucket].calls[call].collective;
      EXPECT_EQ(spec.algorithm, CollectiveAlgorithm::ParameterServer);
      return spec.pullBytes;
    };
    EXPECT_EQ(pulled(0, 0), 24) << "the union is never larger than the dense gradient";
    EXPECT_EQ(pulled(1, 0), 20);
    EXPECT_EQ(pulled(1, 1), 32);
    work.buckets[0].calls[0].bytes = {5, 6};
    EXPECT_EQ(pulled(0, 0), pull == Pull::kDense ? 24 : 11);
  }
  EXPECT_EQ(ParsePull("union", "pull"), Pull::kUnion);
  EXPECT_EQ(ParseTransfer("parameter-server", "transfer"), Transfer::kParameterServer);
  EXPECT_EQ(ParseTransfer("collective", "transfer"), Transfer::kPeers);
  EXPECT_THROW(ParsePull("sparse", "pull"), Error);
  EXPECT_THROW(ParseTransfer("ring", "transfer"), Error);
}

TEST(Clock, RefusesModelsThatTheProfileDoesNotPrice) {
  std::vector<OperationCost> costs = ToyCosts();
  costs[1].kind = "lstm";
  EXPECT_THROW(Clock(ToyProfile(), costs, kNumels), Error);
}

TEST(SplitStep, ByHand) {
  PricedStep step;
  step.compute = {70, 150};
  step.encode = {10, 10};
  step.late_encode = {5, 5};
  step.traffic.deviceFree = {80, 160};
  fabric::StepTiming timing;
  timing.decodeBusy = {15, 15};
  timing.hidden = {60, 41};
  timing.finish = {290, 300};
  timing.total = 300;
  const StepSplits splits = SplitStep(step, timing);
  EXPECT_EQ(splits.critical_worker, 1);
  const StepSplit& critical = splits.critical;
  EXPECT_EQ(critical.compute, 150);
  EXPECT_EQ(critical.encode, 15);
  EXPECT_EQ(critical.decode, 10);
  EXPECT_EQ(critical.communication, 125);  // 300 - 160 - 15: no worker is slower
  EXPECT_EQ(critical.wait, 0);
  // Worker 0 idles for 290 - 80 - 15 = 195: 80 for the slower worker and 115 for the network. It
  // then waits 10 at the barrier.
  EXPECT_EQ(splits.mean.communication, (115 + 125) / 2);
  EXPECT_EQ(splits.mean.wait, (80 + 10 + 0) / 2);
  EXPECT_EQ(splits.mean.Total(), 300);
  EXPECT_EQ(critical.hidden, 41);
  EXPECT_EQ(splits.mean.hidden, 50);
}

TEST(SplitStep, AddsUpOnAFabric) {
  Star star;
  StepWork work = ToyWork();
  work.workers = 4;
  for (BucketWork& bucket : work.buckets) {
    for (SentCall& call : bucket.calls) call.bytes = {4001, 4001, 4001, 4001};
  }
  const Clock clock(ToyProfile(), ToyCosts(), kNumels);
  for (const std::vector<double>& factors :
       {std::vector<double>{}, {1, 1, 7, 1}, {1.1, 1.37, 1.7, 0.93}}) {
    const PricedStep step = clock.Price(work, factors);
    const fabric::StepTiming& timing = star.simulator.Simulate(step.traffic, 0);
    const StepSplits splits = SplitStep(step, timing);
    for (const StepSplit& split : {splits.critical, splits.mean}) {
      EXPECT_EQ(split.Total(), timing.total);
      for (TimeNs part :
           {split.compute, split.encode, split.decode, split.communication, split.wait}) {
        EXPECT_GE(part, 0);
      }
    }
    EXPECT_GT(splits.critical.communication, 0);
  }
}

}  // namespace
}  // namespace legacy::clock_test