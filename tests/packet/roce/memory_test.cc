// Steady traffic over RoCEv2 allocates nothing.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "helper/packet-engine-helper.h"
#include "helper/roce-trial.h"
#include "test/live-memory.h"

namespace legacy::packet_test {
namespace {

constexpr int kHosts = 8;
constexpr TimeNs kMs = 1'000'000;

// Each host sends to the next one and to the one after that, for ever. Counts allocations from 1 ms
// on.
class Endless : public fabric::FlowGraph {
 public:
  void OnStart(fabric::FlowSink& sink) override {
    for (int host = 0; host < kHosts; ++host) {
      for (const int to : {1, 2}) sink.Send({host, (host + to) % kHosts, int64_t{1} << 40});
    }
    sink.Wake(kMs, 0);
    sink.Wake(3 * kMs, 1);
  }
  void OnWake(uint64_t token, fabric::FlowSink&) override {
    if (token == 0) begin_ = packet::Allocations();
    if (token == 1) allocations = packet::Allocations() - begin_;
  }
  void OnDelivered(const fabric::Flow&, fabric::FlowSink&) override {}
  bool Done() const override { return allocations >= 0; }

  int64_t allocations = -1;

 private:
  int64_t begin_ = 0;
};

TEST(RoceMemory, NothingIsAllocatedAfterTheFirstMillisecond) {
  const fabric::Topology topology = fabric::RoceStar(kHosts, 100'000'000'000, 1000);
  const fabric::Placement placement = fabric::MakePlacement({"packed", kHosts}, topology);
  for (const char* control : {"none,buffer=4MiB", "dcqcn", "hpcc", "timely", "swift"}) {
    fabric::EngineRequest request;
    request.topology = &topology;
    request.placement = &placement;
    request.transport = fabric::MakeTransport(std::string("roce:cc=") + control);
    const auto engine = fabric::MakePacketEngine(request);
    Endless graph;
    engine->Submit(graph, 0);
    EXPECT_TRUE(engine->RunUntil(kNever));
    EXPECT_EQ(graph.allocations, 0) << control;
    EXPECT_GT(engine->Counters().packets, 70'000u) << control;
  }
}

}  // namespace
}  // namespace legacy::packet_test
