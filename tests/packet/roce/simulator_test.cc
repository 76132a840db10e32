// The simulator of RoCEv2 runs ns-3's events as DefaultSimulatorImpl does.
#include "ns3/simulator.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "helper/packet-engine-helper.h"
#include "helper/roce-trial.h"
#include "helper/simulator-lease.h"
#include "model/roce/roce-simulator.h"
#include "ns3/global-value.h"
#include "ns3/string.h"

namespace legacy::packet_test::simulator_test {
namespace {

using ns3::EventId;
using ns3::NanoSeconds;
using ns3::Simulator;

// While an OwnSimulator exists, another event list is chosen, so that ns-3's own simulator runs.
class OwnSimulator {
 public:
  OwnSimulator() {
    ns3::GlobalValue::Bind("SchedulerType", ns3::StringValue("ns3::HeapScheduler"));
  }
  ~OwnSimulator() {
    ns3::GlobalValue::Bind("SchedulerType", ns3::StringValue("ns3::MapScheduler"));
  }
};

// What a random program of events does: which event runs when, what is expired, and what is left.
std::vector<int64_t> RandomProgram(uint64_t seed) {
  const packet::SimulatorLease lease(true);
  std::vector<int64_t> log;
  std::vector<EventId> ids;
  uint64_t state = seed;
  const auto draw = [&](uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  int left = 2000;
  std::function<void(int)> run = [&](int number) {
    log.insert(log.end(), {number, Simulator::Now().GetNanoSeconds(), Simulator::GetContext()});
    for (uint64_t events = draw(4); events > 0 && left > 0; --events, --left) {
      const int next = 2000 - left;
      switch (draw(4)) {
        case 0:
          ids.push_back(Simulator::ScheduleNow([&run, next] { run(next); }));
          break;
        case 1:
          Simulator::ScheduleWithContext(7, NanoSeconds(draw(3)), [&run, next] { run(next); });
          break;
        default:
          ids.push_back(Simulator::Schedule(NanoSeconds(draw(40)), [&run, next] { run(next); }));
      }
    }
    if (ids.empty()) return;
    const EventId& some = ids[draw(ids.size())];
    log.push_back(Simulator::IsExpired(some) ? -1 : Simulator::GetDelayLeft(some).GetNanoSeconds());
    if (draw(5) == 0) Simulator::Cancel(some);
    if (draw(50) == 0) Simulator::Stop();
  };
  for (int i = 0; i < 20; ++i) {
    ids.push_back(Simulator::Schedule(NanoSeconds(draw(20)), [&run, i] { run(-i); }));
  }
  ids.push_back(Simulator::ScheduleDestroy([&] { log.push_back(-100); }));
  for (int i = 0; i < 50; ++i) {
    Simulator::Run();
    log.push_back(Simulator::IsFinished() ? 1 : 0);
  }
  Simulator::Stop(NanoSeconds(1000));
  Simulator::Run();
  log.push_back(Simulator::Now().GetNanoSeconds());
  log.push_back(static_cast<int64_t>(Simulator::GetEventCount()));
  Simulator::Destroy();
  return log;
}

TEST(RoceSimulator, RunsEventsAsNs3Does) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const std::vector<int64_t> ours = RandomProgram(seed);
    EXPECT_GT(ours.size(), 200U) << "seed " << seed;
    const OwnSimulator own;
    EXPECT_EQ(ours, RandomProgram(seed)) << "seed " << seed;
  }
}

// Each host sends to the next two, and waits between.
class Rounds : public fabric::FlowGraph {
 public:
  void OnStart(fabric::FlowSink& sink) override { Next(sink); }
  void OnWake(uint64_t, fabric::FlowSink& sink) override { Next(sink); }
  void OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) override {
    times.push_back(sink.Now());
    times.push_back(flow.source);
    if (--left_ == 0) sink.Wake(1000, 0);
  }
  bool Done() const override { return rounds_ == 4 && left_ == 0; }

  std::vector<int64_t> times;

 private:
  void Next(fabric::FlowSink& sink) {
    if (rounds_ == 4) return;
    ++rounds_;
    for (int host = 0; host < 8; ++host) {
      for (const int to : {1, 2}) {
        ++left_;
        sink.Send({host, (host + to) % 8, 200'000});
      }
    }
  }
  int rounds_ = 0;
  int left_ = 0;
};

std::vector<int64_t> Answers(const std::string& transport) {
  const fabric::Topology topology = fabric::RoceStar(8, 100'000'000'000, 1000);
  const fabric::Placement placement = fabric::MakePlacement({"packed", 8}, topology);
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport = fabric::MakeTransport(transport);
  const auto engine = fabric::MakePacketEngine(request);
  Rounds graph;
  engine->Submit(graph, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  std::vector<int64_t> answers = graph.times;
  answers.push_back(static_cast<int64_t>(engine->Counters().events));
  answers.push_back(static_cast<int64_t>(engine->Counters().packets));
  for (const fabric::LinkCounters& link : engine->Links()) {
    answers.insert(answers.end(), {link.busy, link.maxQueueBytes, link.pauses, link.paused});
  }
  return answers;
}

TEST(RoceSimulator, GivesTheSameBits) {
  for (const char* transport : {"roce", "roce:cc=none,buffer=512KiB", "roce:cc=hpcc",
                                "roce:cc=swift", "roce:pfc=off,recovery=selective,buffer=128KiB"}) {
    const std::vector<int64_t> ours = Answers(transport);
    EXPECT_EQ(packet::RoceSimulator::Get(), nullptr) << "it ends with its engine";
    const OwnSimulator own;
    EXPECT_EQ(ours, Answers(transport)) << transport;
  }
}

TEST(RoceSimulator, LeavesTheUsersChoiceAlone) {
  const OwnSimulator own;
  const packet::SimulatorLease lease(true);
  EXPECT_EQ(packet::RoceSimulator::Get(), nullptr);
}

}  // namespace
}  // namespace legacy::packet_test::simulator_test
