// Messages that repeat, with and without their packets.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/repeated-messages.h"
#include "tests/packet/scenario.h"

namespace legacy {
namespace {

using fabric::CollectiveAlgorithm;
using packet::RepeatedMessages;
using packet_test::Burst;
using packet_test::Fabric;
using packet_test::OneCollective;
using packet_test::Scenario;

constexpr double kLatency = 10'000;

TEST(RepeatedMessages, AreKnownOnceThreeTookEquallyLong) {
  RepeatedMessages repeated(kLatency, 20'000);
  repeated.OnSent(1000);
  TimeNs now = 0;
  for (const TimeNs took : {180'000, 150'000, 150'100, 150'050}) {
    EXPECT_FALSE(repeated.Know(1000));
    EXPECT_FALSE(repeated.OnArrived(1000, now, now + took));
    now += took;
  }
  EXPECT_TRUE(repeated.Know(1000));
  EXPECT_TRUE(repeated.Know(1200));
  EXPECT_FALSE(repeated.Know(1201));
  EXPECT_NEAR(repeated.BusyTime(1000), 140'050, 1);
  repeated.OnSent(2000);
  EXPECT_FALSE(repeated.Know(1000));
  EXPECT_FALSE(repeated.Know(2000));
}

TEST(RepeatedMessages, WaitForEachOtherAtTheSender) {
  RepeatedMessages repeated(kLatency, 20'000);
  repeated.OnSent(1000);
  // All are sent at once: the first takes 150 us, and each further one leaves 140 us later.
  for (const TimeNs arrival : {150'000, 290'000, 430'000}) repeated.OnArrived(1000, 0, arrival);
  ASSERT_TRUE(repeated.Know(1000));
  EXPECT_EQ(repeated.ArrivalOf(1000, 1'000'000, 430'000), 1'150'000);
  EXPECT_EQ(repeated.ArrivalOf(1000, 1'000'000, 1'100'000), 1'240'000);
}

TEST(RepeatedMessages, ACheckSaysWhatHasChanged) {
  RepeatedMessages repeated(kLatency, 20'000);
  repeated.OnSent(1000);
  TimeNs now = 0;
  const auto arrive = [&](TimeNs took) {
    now += 1'000'000;
    return repeated.OnArrived(1000, now - took, now);
  };
  for (int i = 0; i < RepeatedMessages::kNeeded; ++i) EXPECT_FALSE(arrive(100'000));
  repeated.Check();
  EXPECT_FALSE(repeated.Know(1000));
  EXPECT_NEAR(arrive(100'500).value_or(0), 1.005, 1e-9);
  EXPECT_TRUE(repeated.Know(1000));
  repeated.Check();
  EXPECT_NEAR(arrive(150'000).value_or(0), 1.5, .01);
  EXPECT_FALSE(repeated.Know(1000));
}

// What a step did, with all packets or without some.
struct Outcome {
  fabric::StepTiming timing;
  std::vector<fabric::LinkCounters> links;
};

Outcome RunStep(Scenario scenario, fabric::Skip skip) {
  scenario.transport.skip = skip;
  const Fabric fabric(scenario);
  fabric::StepSimulator simulator(fabric::MakePacketEngine, fabric.request);
  Outcome outcome;
  outcome.timing = simulator.Simulate(OneCollective(scenario.workers, scenario.collective), 0);
  return outcome;
}

Scenario Ring(const std::string& transport, const std::string& topology) {
  Scenario ring;
  ring.topology = topology;
  ring.workers = 16;
  ring.rate_bps = 10'000'000'000;
  ring.delay = 1000;
  ring.transport = fabric::MakeTransport(transport);
  ring.collective.algorithm = CollectiveAlgorithm::RingAllGather;
  ring.collective.bytes.assign(16, 2'000'000);
  return ring;
}

// Expects the same counters, and times that differ by at most `tolerance`.
void ExpectAlike(const fabric::StepTiming& some, const fabric::StepTiming& all, double tolerance) {
  const auto expect_near = [](auto ours, auto theirs, double relative, double absolute) {
    const auto expected = static_cast<double>(theirs);
    EXPECT_NEAR(static_cast<double>(ours), expected, relative * expected + absolute);
  };
  for (size_t worker = 0; worker < all.finish.size(); ++worker) {
    expect_near(some.finish[worker], all.finish[worker], tolerance, 0);
  }
  expect_near(some.counters.packets, all.counters.packets, .005, 0);
  for (size_t link = 0; link < all.links.size(); ++link) {
    expect_near(some.links[link].bytes, all.links[link].bytes, .005, 2000);
    expect_near(some.links[link].busy, all.links[link].busy, .005, 2000);
  }
}

TEST(SteadyCarrier, SkipsMostPacketsOfRings) {
  for (const char* transport : {"datacenter", "wan", "roce", "roce:cc=none"}) {
    for (const char* topology : {"star", "fat-tree"}) {
      const Scenario ring = Ring(transport, topology);
      const fabric::StepTiming all = RunStep(ring, fabric::Skip::None).timing;
      const fabric::StepTiming some = RunStep(ring, fabric::Skip::Steady).timing;
      SCOPED_TRACE(std::string(transport) + " on a " + topology);
      EXPECT_EQ(all.counters.skipped.bytes, 0);
      EXPECT_GT(2 * some.counters.skipped.skippedBytes, some.counters.skipped.bytes);
      EXPECT_LT(3 * some.counters.events, all.counters.events);
      EXPECT_EQ(some.counters.flows, all.counters.flows);
      ExpectAlike(some, all, .003);
    }
  }
}

TEST(SteadyCarrier, SkipsPiecesOfLongMessages) {
  for (const char* transport : {"datacenter", "wan", "roce"}) {
    SCOPED_TRACE(transport);
    Scenario scenario = Ring(transport, "star");
    scenario.workers = 6;
    scenario.collective.algorithm = CollectiveAlgorithm::DirectAllGather;
    scenario.collective.bytes.assign(6, 20'000'000);
    const fabric::StepTiming all = RunStep(scenario, fabric::Skip::None).timing;
    const fabric::StepTiming some = RunStep(scenario, fabric::Skip::Steady).timing;
    EXPECT_GT(10 * some.counters.skipped.skippedBytes, 7 * some.counters.skipped.bytes);
    EXPECT_LT(3 * some.counters.events, all.counters.events);
    EXPECT_EQ(some.counters.retransmitTimeouts, 0u);
    ExpectAlike(some, all, .01);
  }
}

// Flows of Cubic fill the queue of a dumbbell until it drops: their shares do not repeat.
TEST(SteadyCarrier, SimulatesPacketsWhereQueuesDrop) {
  Scenario scenario = Ring("wan", "dumbbell");
  scenario.workers = 4;
  scenario.rate_bps = 100'000'000;
  scenario.transport.queueBytes = 100'000;
  scenario.collective.algorithm = CollectiveAlgorithm::DirectAllGather;
  scenario.collective.bytes.assign(4, 8'000'000);
  const fabric::StepTiming some = RunStep(scenario, fabric::Skip::Steady).timing;
  int64_t drops = 0;
  for (const fabric::LinkCounters& link : some.links) drops += link.drops;
  EXPECT_GT(drops, 0);
  EXPECT_EQ(some.counters.skipped.skippedBytes, 0);
}

TEST(SteadyCarrier, ChecksTimesFromTimeToTime) {
  Scenario ring = Ring("datacenter", "star");
  ring.workers = 4;
  ring.collective.bytes.assign(4, 4'000'000);
  fabric::StepTraffic traffic = OneCollective(4, ring.collective);
  for (int i = 0; i < 60; ++i)
    traffic.buckets.front().calls.push_back(traffic.buckets.front().calls.front());
  ring.transport.skip = fabric::Skip::Steady;
  const Fabric fabric(ring);
  fabric::StepSimulator simulator(fabric::MakePacketEngine, fabric.request);
  const fabric::SkipCounters skipped = simulator.Simulate(traffic, 0).counters.skipped;
  EXPECT_GT(10 * skipped.skippedBytes, 9 * skipped.bytes);
  EXPECT_GE(skipped.checked, 4u);
  EXPECT_LT(skipped.difference, .002 * static_cast<double>(skipped.checked));
  EXPECT_LT(skipped.largest, .01);
}

TEST(SteadyCarrier, LeavesWhatDoesNotRepeatAsItIs) {
  for (const auto algorithm :
       {CollectiveAlgorithm::DirectAllGather, CollectiveAlgorithm::HalvingDoublingAllReduce,
        CollectiveAlgorithm::AllToAll}) {
    Scenario scenario = Ring("datacenter", "fat-tree");
    scenario.collective.algorithm = algorithm;
    scenario.collective.bytes.assign(16, 400'000);
    const fabric::StepTiming all = RunStep(scenario, fabric::Skip::None).timing;
    const fabric::StepTiming some = RunStep(scenario, fabric::Skip::Steady).timing;
    EXPECT_EQ(some.finish, all.finish);
    EXPECT_EQ(some.counters.events, all.counters.events);
  }
}

// A graph in which flows follow each other at random, of a few sizes, between a few hosts. Some are
// withdrawn.
class Chatter : public fabric::FlowGraph {
 public:
  Chatter(uint64_t seed, int hosts, int flows)
      : random_(static_cast<uint32_t>(seed)), hosts_(hosts), left_(flows), arrived(flows, 0) {}

  void OnStart(fabric::FlowSink& sink) override {
    for (int i = 0; i < hosts_; ++i) Next(i, sink);
  }
  void OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) override {
    ++arrived[flow.tag];
    --on_way_;
    if (Below(200) == 0) {
      sink.Wake(static_cast<TimeNs>(Below(300'000)), flow.destination);
      ++wakes_;
      return;
    }
    Next(flow.destination, sink);
    if (Below(400) == 0 && sent_.tag != flow.tag && arrived[sent_.tag] == 0) {
      const int64_t carried = sink.Abort(sent_);
      EXPECT_GE(carried, 0);
      EXPECT_LE(carried, sent_.bytes);
      arrived[sent_.tag] = 1;
      --on_way_;
      Next(sent_.destination, sink);
    }
  }
  void OnWake(uint64_t token, fabric::FlowSink& sink) override {
    --wakes_;
    Next(static_cast<int>(token), sink);
  }
  bool Done() const override { return left_ == 0 && on_way_ == 0 && wakes_ == 0; }

 private:
  uint32_t Below(uint32_t bound) { return random_() % bound; }

  void Next(int source, fabric::FlowSink& sink) {
    if (left_ == 0) return;
    fabric::Flow flow;
    flow.source = source;
    flow.destination = (source + 1 + (Below(300) == 0 ? 1 : 0)) % hosts_;
    flow.bytes = Below(300) == 0 ? 30'000 : 100'000;
    flow.tag = static_cast<uint64_t>(--left_);
    ++on_way_;
    sent_ = flow;
    sink.Send(flow);
  }

  std::mt19937 random_;
  int hosts_;
  int left_;
  int on_way_ = 0;
  int wakes_ = 0;
  fabric::Flow sent_;

 public:
  std::vector<int> arrived;
};

TEST(SteadyCarrier, DeliversEveryMessageOnce) {
  int64_t skipped = 0, all = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Scenario scenario;
    scenario.topology = seed % 2 == 0 ? "star" : "fat-tree";
    scenario.workers = 4 + static_cast<int>(seed % 5);
    scenario.rate_bps = 10'000'000'000;
    scenario.delay = 1000;
    scenario.transport = fabric::MakeTransport(seed % 3 == 0 ? "roce" : "datacenter");
    scenario.transport.skip = fabric::Skip::Steady;
    const Fabric fabric(scenario);
    const auto engine = fabric::MakePacketEngine(fabric.request);
    Chatter graph(seed, scenario.workers, 600);
    engine->Submit(graph, 0);
    ASSERT_TRUE(engine->RunUntil(kNever)) << seed;
    for (const int times : graph.arrived) ASSERT_EQ(times, 1) << seed;
    skipped += engine->Counters().skipped.skippedBytes;
    all += engine->Counters().skipped.bytes;
  }
  EXPECT_GT(5 * skipped, all);
}

TEST(SteadyCarrier, RefusesNetworksWhoseMessagesCannotRepeat) {
  const auto message = [](const std::string& transport, double error_rate) -> std::string {
    Scenario scenario = Ring(transport, "star");
    scenario.transport.skip = fabric::Skip::Steady;
    Fabric fabric(scenario);
    fabric.topology = fabric.topology.WithLinks(
        [&](int, fabric::Link& link) { link.ports[0].errorRate = error_rate; });
    try {
      fabric::MakePacketEngine(fabric.request);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(message("datacenter", 0), "nothing");
  EXPECT_NE(message("ns3:datacenter", 0).find("sockets"), std::string::npos);
  EXPECT_NE(message("datacenter", .01).find("lose packets"), std::string::npos);
}

}  // namespace
}  // namespace legacy
