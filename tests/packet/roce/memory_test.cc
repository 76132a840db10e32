// Steady traffic over RoCEv2 and TCP allocates nothing, and connections take little memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "fabric/tcp/controls.h"
#include "helper/packet-engine-helper.h"
#include "helper/roce-trial.h"
#include "test/live-memory.h"

namespace legacy::packet_test {
namespace {

constexpr int kHosts = 8;
constexpr TimeNs kMs = 1'000'000;

// Each host sends to the next one and to the one after that, for ever. Counts allocations in 2 ms
// that begin at a time.
class Endless : public fabric::FlowGraph {
 public:
  explicit Endless(TimeNs from) : from_(from) {}
  void OnStart(fabric::FlowSink& sink) override {
    for (int host = 0; host < kHosts; ++host) {
      for (const int to : {1, 2}) sink.Send({host, (host + to) % kHosts, int64_t{1} << 40});
    }
    sink.Wake(from_, 0);
    sink.Wake(from_ + 2 * kMs, 1);
  }
  void OnWake(uint64_t token, fabric::FlowSink&) override {
    if (token == 0) begin_ = packet::Allocations();
    if (token == 1) allocations = packet::Allocations() - begin_;
  }
  void OnDelivered(const fabric::Flow&, fabric::FlowSink&) override {}
  bool Done() const override { return allocations >= 0; }

  int64_t allocations = -1;

 private:
  TimeNs from_;
  int64_t begin_ = 0;
};

struct Measured {
  int64_t allocations = 0;
  uint64_t packets = 0;
};

Measured Measure(const fabric::Transport& transport, TimeNs from) {
  const fabric::Topology topology = fabric::RoceStar(kHosts, 100'000'000'000, 1000);
  const fabric::Placement placement = fabric::MakePlacement({"packed", kHosts}, topology);
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport = transport;
  const auto engine = fabric::MakePacketEngine(request);
  Endless graph(from);
  engine->Submit(graph, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  return {graph.allocations, engine->Counters().packets};
}

// Hosts send a message to each other host: all of them, or the first alone.
class Each : public fabric::FlowGraph {
 public:
  Each(int hosts, bool all) : hosts_(hosts), senders_(all ? hosts : 1) {}
  void OnStart(fabric::FlowSink& sink) override {
    for (int from = 0; from < senders_; ++from) {
      for (int hop = 1; hop < hosts_; ++hop) sink.Send({from, (from + hop) % hosts_, 8192});
    }
  }
  void OnWake(uint64_t, fabric::FlowSink&) override {}
  void OnDelivered(const fabric::Flow&, fabric::FlowSink&) override { ++delivered_; }
  bool Done() const override { return delivered_ == senders_ * (hosts_ - 1); }

 private:
  int hosts_;
  int senders_;
  int delivered_ = 0;
};

// Returns the live bytes of an engine for each of 10,000 connections that have carried a message.
double BytesPerConnection(const std::string& transport) {
  constexpr int kMany = 101;
  const fabric::Topology topology = fabric::RoceStar(kMany, 100'000'000'000, 1000);
  const fabric::Placement placement = fabric::MakePlacement({"packed", kMany}, topology);
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport = fabric::MakeTransport(transport);
  const auto live = [&](bool all) {
    const int64_t before = packet::LiveBytes();
    const auto engine = fabric::MakePacketEngine(request);
    Each graph(kMany, all);
    engine->Submit(graph, 0);
    EXPECT_TRUE(engine->RunUntil(kNever));
    return packet::LiveBytes() - before;
  };
  const int64_t few = live(false);
  return static_cast<double>(live(true) - few) / ((kMany - 1) * (kMany - 1));
}

TEST(RoceMemory, AQueuePairTakesLittle) {
  const double bytes = BytesPerConnection("roce:cc=none");
  EXPECT_LT(bytes, 440);
  EXPECT_GT(bytes, 100);  // else it was not counted
}

TEST(TcpMemory, AConnectionTakesLittle) {
  const double bytes = BytesPerConnection("datacenter");
  EXPECT_LT(bytes, 455);
  EXPECT_GT(bytes, 100);
}

TEST(RoceMemory, NothingIsAllocatedAfterTheFirstMillisecond) {
  for (const char* control : {"none,buffer=4MiB", "dcqcn", "hpcc", "timely", "swift"}) {
    const Measured measured =
        Measure(fabric::MakeTransport(std::string("roce:cc=") + control), kMs);
    EXPECT_EQ(measured.allocations, 0) << control;
    EXPECT_GT(measured.packets, 70'000u) << control;
  }
}

// Windows grow until a queue marks or drops.
TEST(TcpMemory, NothingIsAllocatedOnceWindowsHaveGrown) {
  for (const fabric::TcpControlRow& control : fabric::TcpControls()) {
    fabric::Transport transport = fabric::MakeTransport("datacenter");
    transport.congestionControl = control.name;
    const Measured measured = Measure(transport, 10 * kMs);
    EXPECT_EQ(measured.allocations, 0) << control.name;
    EXPECT_GT(measured.packets, 500'000u) << control.name;
  }
}

}  // namespace
}  // namespace legacy::packet_test
