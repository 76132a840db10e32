#include "scenarios/network/engines/background.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <vector>

#include "base/error.h"
#include "scenarios/network/engines/network.h"
#include "tests/network/network_testing.h"

namespace legacy {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;

// All flows have 20 kB.
std::string ConstantSizes() {
  const std::string path = ::testing::TempDir() + "background_sizes.txt";
  std::ofstream(path) << "19999 0\n20000 1\n";
  return path;
}

std::unique_ptr<Network> NetworkWith(const std::string& topology, const std::string& background,
                                     int hosts, uint64_t seed = 1) {
  NetworkRequest request;
  request.topology.text = topology;
  request.topology.rateBps = 10'000'000;
  request.placement.workers = hosts;
  request.background = ParseBackground(background, "--background");
  request.seed = seed;
  return BuildNetwork(request);
}

// Runs the background alone until `end` of its schedule, and returns the engine's counters.
std::vector<fabric::LinkCounters> RunAlone(const Network& network, TimeNs end) {
  // A graph that does nothing until the end.
  struct Wait : fabric::FlowGraph {
    explicit Wait(TimeNs given) : end(given) {}
    void OnStart(fabric::FlowSink& sink) override { sink.Wake(end, 0); }
    void OnDelivered(const fabric::Flow&, fabric::FlowSink&) override {}
    void OnWake(uint64_t, fabric::FlowSink&) override { done = true; }
    bool Done() const override { return done; }
    TimeNs end;
    bool done = false;
  };
  const auto engine = fabric::MakeFlowEngine(network.request);
  const auto background = network.request.background(0);
  engine->SubmitBackground(*background, 0);
  Wait wait(end);
  engine->Submit(wait, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  EXPECT_EQ(engine->Now(), end);
  return engine->Links();
}

double MeanLoad(const Network& network, TimeNs end, bool core) {
  const std::vector<fabric::LinkCounters> links = RunAlone(network, end);
  double bits = 0;
  double capacity = 0;
  for (size_t i = 0; i < links.size(); ++i) {
    const auto link = static_cast<fabric::DirectedLink>(i);
    const fabric::Topology& topology = network.topology;
    const bool inner = !topology.IsHost(topology.From(link)) && !topology.IsHost(topology.To(link));
    if (core ? !inner : !topology.IsHost(topology.From(link))) continue;
    EXPECT_LE(links[i].backgroundBytes, links[i].bytes);
    bits += 8 * static_cast<double>(links[i].backgroundBytes);
    capacity += static_cast<double>(topology.PortOf(link).rateBps);
  }
  return bits / capacity / (static_cast<double>(end) * 1e-9);
}

TEST(Background, ReachesItsLoad) {
  const std::string sizes = ",sizes=" + ConstantSizes();
  const auto star = NetworkWith("star:hosts=4", "poisson:load=0.3" + sizes, 4);
  EXPECT_NEAR(MeanLoad(*star, 1000 * kSecond, false), 0.3, 0.05 * 0.3);
  const auto spine =
      NetworkWith("leaf-spine:leaves=2,hosts=4,spines=2", "poisson:load=0.2,on=core" + sizes, 8);
  EXPECT_NEAR(MeanLoad(*spine, 1000 * kSecond, true), 0.2, 0.05 * 0.2);
}

// Collects what a graph sends, by time of the schedule, without a network.
std::map<TimeNs, fabric::Flow> Sent(const Network& network, TimeNs start, TimeNs end) {
  struct Sink : fabric::FlowSink {
    TimeNs Now() const override { return now; }
    void Send(const fabric::Flow& flow) override { sent[now] = flow; }
    void Wake(TimeNs delay, uint64_t token) override { wakes.emplace(now + delay, token); }
    int64_t Abort(const fabric::Flow&) override { return 0; }
    void Pause() override {}
    TimeNs now = 0;
    std::multimap<TimeNs, uint64_t> wakes;
    std::map<TimeNs, fabric::Flow> sent;
  } sink;
  const auto graph = network.request.background(start);
  graph->OnStart(sink);
  while (sink.wakes.begin()->first < end - start) {
    const auto wake = sink.wakes.extract(sink.wakes.begin());
    sink.now = wake.key();
    graph->OnWake(wake.mapped(), sink);
  }
  std::map<TimeNs, fabric::Flow> absolute;
  for (const auto& [time, flow] : sink.sent) absolute[start + time] = flow;
  return absolute;
}

TEST(Background, DoesNotDependOnWhenItBegins) {
  const auto network = NetworkWith("star:hosts=5", "poisson:load=0.5", 5);
  const auto whole = Sent(*network, 0, 300 * kSecond);
  const auto late = Sent(*network, 117 * kSecond, 300 * kSecond);
  ASSERT_GT(late.size(), 100u);
  EXPECT_LT(late.size(), whole.size());
  for (const auto& [time, flow] : late) {
    ASSERT_EQ(whole.count(time), 1u) << time;
    EXPECT_EQ(whole.at(time).bytes, flow.bytes);
    EXPECT_EQ(whole.at(time).source, flow.source);
    EXPECT_EQ(whole.at(time).destination, flow.destination);
    EXPECT_NE(flow.source, flow.destination);
  }
  const auto other = NetworkWith("star:hosts=5", "poisson:load=0.5", 5, 2);
  EXPECT_NE(Sent(*other, 0, 10 * kSecond).begin()->first, whole.begin()->first);
}

// A small map of SNDlib's native form: 3 and 1 Mbit/s from a to b, and nothing back.
TEST(Background, FollowsTheDemandsOfAMap) {
  const std::string path = ::testing::TempDir() + "background_map.txt";
  std::ofstream(path)
      << "?SNDlib native format; type: network; version: 1.0\n"
         "META (\n  unit = MBITPERSEC\n)\n"
         "NODES (\n  a ( 8.0 50.0 )\n  b ( 9.0 50.0 )\n)\n"
         "LINKS (\n  L ( a b ) 100.00 0.00 0.00 0.00 ( )\n)\n"
         "DEMANDS (\n  D1 ( a b ) 1 3.00 UNLIMITED\n  D2 ( a b ) 1 1.00 UNLIMITED\n)\n";
  const auto network =
      NetworkWith("sndlib:" + path, "poisson:pairs=demands,scale=0.5,sizes=" + ConstantSizes(), 2);
  const std::vector<fabric::LinkCounters> links = RunAlone(*network, 1000 * kSecond);
  const fabric::Topology& topology = network->topology;
  for (size_t i = 0; i < links.size(); ++i) {
    const auto link = static_cast<fabric::DirectedLink>(i);
    if (topology.NodeName(topology.From(link)) != "a" ||
        topology.NodeName(topology.To(link)) != "b") {
      continue;
    }
    EXPECT_NEAR(8e-9 * static_cast<double>(links[i].backgroundBytes), 2, 0.1);  // Gbit
    EXPECT_EQ(links[i ^ 1].backgroundBytes, 0);
  }
  EXPECT_THROW(NetworkWith("star:hosts=4", "poisson:pairs=demands", 4), Error);
}

TEST(Background, SaysWhatIsWrong) {
  const auto message = [](const std::string& text) {
    try {
      ParseBackground(text, "--background");
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("none"), "accepted");
  EXPECT_NE(message("uniform:load=0.3").find("poisson"), std::string::npos);
  EXPECT_NE(message("poisson:load=0").find("load"), std::string::npos);
  EXPECT_NE(message("poisson:on=all").find("access, core"), std::string::npos);
  EXPECT_NE(message("poisson:size=1").find("size"), std::string::npos);
  EXPECT_THROW(NetworkWith("star:hosts=4", "poisson:load=0.3,on=core", 4), Error);
}

}  // namespace
}  // namespace legacy
