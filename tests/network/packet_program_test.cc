// Packets by legacy-packet equal those of the same engine in this process, and whatever happens to
// the program ends in one sentence.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/programs/apart.h"
#include "ns3-module/fabric/engine/dead-link.h"
#include "ns3-module/helper/packet-engine-helper.h"
#include "ns3-module/wire/fields.h"
#include "scenarios/network/engines/packet_engine.h"
#include "scenarios/network/engines/packet_process.h"
#include "tests/fabric/engine/script.h"
#include "tests/network/network_testing.h"

namespace legacy::packet_program_test {
namespace {

namespace fs = std::filesystem;
using fabric::Script;

fabric::EngineFactory Program() {
  return PacketProgramEngines({}, std::make_shared<std::string>());
}

// Returns the script of one flow.
std::vector<Script::Entry> One(const fabric::Flow& flow) { return {{0, flow}}; }

// Returns a value as bytes, which are equal where all of it is.
template <class... Values>
Bytes BytesOf(const Values&... values) {
  StateWriter out;
  ToArchive(out, values...);
  return out.Take();
}

// Returns the processes that this one started.
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    std::copy(std::istream_iterator<pid_t>(file), {}, std::back_inserter(children));
  }
  return children;
}

const std::vector<Changes>& Cases() {
  static const std::vector<Changes> cases = {
      {{"topo", "star"}},
      {{"topo", "fat-tree"}, {"workers", "16"}, {"collective", "halving-doubling-allreduce"}},
      {{"topo", "fat-tree"},
       {"workers", "16"},
       {"multipath", "spray"},
       {"transport", "roce:recovery=selective"}},
      {{"topo", "fat-tree"}, {"workers", "8"}, {"transport", "ns3:datacenter"}},
      {{"collective", "direct-allgather"}, {"transport", "roce:cc=hpcc,pfc=off"}},
      {{"collective", "direct-allgather"}, {"transport", "roce:cc=none,ecn=off,train=4"}},
      {{"transport", "wan"}, {"delay", "5ms"}, {"bandwidth", "100Mbps"}},
      {{"transport", "ns3:wan"}, {"topo", OwnFile("lossy.yaml")}, {"bytes", "60KB"}},
      {{"streams", "3"}, {"collective", "double-tree-allreduce"}},
      {{"collective", "in-network-allreduce"}, {"buckets", "3"}},
      {{"collective", "sharded-parameter-server"}, {"servers", "2"}},
      {{"background", "poisson:load=0.3"}, {"topo", "leaf-spine:leaves=2,hosts=3,spines=1"}},
      {{"changes", "host0<>*@steps:0s=10Gbps,500us=1Gbps,period=1ms"}},
      {{"skip", "steady"}, {"workers", "8"}, {"bytes", "4MB"}},
      {{"connections", "cold"}, {"stragglers", "fixed:count=1,factor=2"}},
  };
  return cases;
}

TEST(PacketProgram, StepsAreThoseOfTheSameEngineInThisProcess) {
  std::ofstream(OwnFile("lossy.yaml"))
      << "type: links\nhosts: [a, b, c, d]\nswitches: [s]\nlinks:\n"
         "  - {a: a, b: s, rate: 10Mbps, delay: 5ms, error: 0.01}\n"
         "  - {a: b, b: s, rate: 10Mbps/5Mbps, delay: 1ms, price: 0.1}\n"
         "  - {a: c, b: s, rate: 20Mbps, delay: 2ms, burst: 30KB, weight: 2}\n"
         "  - {a: d, b: s, rate: 10Mbps, delay: 1ms}\nroutes:\n"
         "  - {from: a, to: b, via: [s]}\n";
  for (const Changes& changes : Cases()) {
    Changes values = {{"fidelity", "flow"}, {"workers", "4"}, {"bytes", "400KB"}};
    for (const auto& [name, text] : changes) values[name] = text;
    const PreparedExperiment prepared = Prepare(ExperimentWith(values));
    const fabric::EngineRequest& request = prepared.network->request;
    const fabric::StepTraffic traffic =
        TrafficOf(prepared.experiment, prepared.algorithm, *prepared.network, 0);
    const auto run = [&](const fabric::EngineFactory& factory) {
      fabric::StepSimulator simulator(factory, request);
      const fabric::StepTiming first = simulator.Simulate(traffic, 0);
      const fabric::StepTiming second = simulator.Simulate(traffic, 1, first.total);
      return BytesOf(first, second, simulator.Totals(), simulator.FreshSteps());
    };
    EXPECT_EQ(run(fabric::MakePacketEngine), run(Program()))
        << changes.begin()->first << " " << changes.begin()->second;
  }
  EXPECT_EQ(Children().size(), 1u);  // one process served them all
}

// A sharded step goes to the program whole, and its parts come back.
TEST(PacketProgram, ShardedStepsAreThoseOfTheSameEngineInThisProcess) {
  const PreparedExperiment prepared =
      Prepare(ExperimentWith({{"fidelity", "flow"}, {"workers", "4"}, {"topo", "star"}}));
  const auto of = [](fabric::CollectiveAlgorithm algorithm, std::vector<int> members) {
    fabric::CollectiveSpec spec;
    spec.algorithm = algorithm;
    spec.bytes.assign(members.size(), 30'000);
    spec.members = std::move(members);
    return spec;
  };
  using enum fabric::CollectiveAlgorithm;
  fabric::StepTraffic traffic;
  traffic.workers = 4;
  traffic.contention = 0.1;
  fabric::ShardedTraffic& step = traffic.sharded.emplace();
  fabric::ShardedStage& stage = step.stages.emplace_back();
  stage.chunks.emplace_back();
  for (int u = 0; u < 3; ++u) {
    fabric::ShardedUnit& unit = stage.units.emplace_back();
    unit.kept = u == 0;
    unit.gather = {of(RingAllGather, {0, 1}), of(RingAllGather, {2, 3})};
    unit.gatherAgain = {of(DirectAllGather, {0, 1, 2, 3})};
    unit.reduce = {of(RingReduceScatter, {0, 1}), of(RingReduceScatter, {2, 3})};
    unit.replicas = {of(RingAllReduce, {0, 2}), of(RingAllReduce, {1, 3})};
    unit.unpack = {100};
    unit.pack = {1, 2, 3, 4};
    stage.chunks[0].push_back({u, {50'000}, {20'000}, {90'000, 90'000, 80'000, 70'000}});
  }
  stage.update = {5'000};
  step.passes = 2;
  step.reducesEach = false;
  step.freesAfterUse = true;
  for (const bool alone : {false, true}) {
    step.alone = alone;
    const auto run = [&](const fabric::EngineFactory& factory) {
      fabric::StepSimulator simulator(factory, prepared.network->request);
      const fabric::StepTiming timing = simulator.Simulate(traffic, 0);
      EXPECT_EQ(timing.parts.size(), 4u);
      return BytesOf(timing, simulator.Totals());
    };
    EXPECT_EQ(run(fabric::MakePacketEngine), run(Program())) << alone;
  }
}

// What an observer sees of a script on an engine.
Bytes Observed(const fabric::EngineFactory& factory, const fabric::EngineRequest& request) {
  StateWriter seen;
  {
    const auto engine = factory(request);
    ToArchive(seen, engine->Name(), engine->Random(), engine->DependsOnTime(), engine->StartsWarm(),
              engine->Fingerprint());
    engine->SetFlowTrace([&](const fabric::Flow& flow, TimeNs when, bool delivered) {
      const fabric::RoceFlow* const roce = delivered ? engine->Delivered() : nullptr;
      ToArchive(seen, flow, when, delivered, roce == nullptr ? fabric::RoceFlow() : *roce);
    });
    Script script({{0, {0, 1, 3'000'000}},
                   {100'000, {2, 1, 5'000'000}, 1'000'000},
                   {200'000, {3, 0, 70'000}},
                   {900'000, {1, 3, 10, 0, false, 2, fabric::Opening::New}}});
    script.fails = true;
    engine->Submit(script, 1'000);
    for (const TimeNs until : {TimeNs{500'000}, TimeNs{1'200'000}, kNever}) {
      ToArchive(seen, engine->RunUntil(until), until == kNever ? 0 : engine->Now(),
                engine->Activity(), engine->Roce(), engine->Counters(), engine->Links());
    }
    ToArchive(seen, script.arrivals, script.failed, engine->Save());
  }
  const auto fresh = factory(request);
  fresh->SetScheduleTime(5'000);
  fresh->Restore("packet 1 123456 7");
  ToArchive(seen, fresh->Now(), fresh->Save());
  return seen.Take();
}

TEST(PacketProgram, GraphsOfThisProcessSeeTheSame) {
  for (const Changes& changes : std::vector<Changes>{
           {{"transport", "roce"}},
           {{"transport", "datacenter"}},
           {{"transport", "ns3:datacenter"}},
           {{"transport", "datacenter"}, {"changes", "host0@outage:from=300us,for=500us"}}}) {
    Changes values = {{"fidelity", "flow"}, {"workers", "4"}, {"topo", "star"}};
    for (const auto& [name, text] : changes) values[name] = text;
    const PreparedExperiment prepared = Prepare(ExperimentWith(values));
    const fabric::EngineRequest& request = prepared.network->request;
    EXPECT_EQ(Observed(fabric::MakePacketEngine, request), Observed(Program(), request))
        << changes.at("transport");
  }
}

std::unique_ptr<Network> Star(const std::string& changes = "") {
  NetworkRequest request;
  request.topology.text = "star";
  request.topology.changes = changes;
  request.placement.workers = 3;
  return BuildNetwork(request);
}

TEST(PacketProgram, ErrorsAreThoseOfTheSameEngineInThisProcess) {
  const auto network = Star("host0>*@steps:0s=1Gbps,1us=0bps");
  const auto dead = [&](const fabric::EngineFactory& factory) {
    Script script(One({0, 1, 1'000'000}));
    const auto engine = factory(network->request);
    engine->Submit(script, 0);
    try {
      engine->RunUntil(kNever);
    } catch (const fabric::DeadLink& error) {
      return std::to_string(error.Source()) + " " + std::to_string(error.Destination()) + " " +
             error.what();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(dead(fabric::MakePacketEngine), dead(Program()));
  const auto star = Star();
  const auto refused = [&](const fabric::EngineFactory& factory) {
    fabric::EngineRequest request = star->request;
    request.transport = fabric::MakeTransport("ns3:datacenter");
    request.transport.attributes["ns3::TcpSocket::SegmentSise"] = "1";
    return MessageOf([&] { factory(request); });
  };
  EXPECT_EQ(refused(fabric::MakePacketEngine), refused(Program()));
  const std::string files = MessageOf([] {
    PacketProgramEngines({"/nowhere/x", "", ""}, std::make_shared<std::string>());
  });
  EXPECT_NE(files.find("pcap prefix: got '/nowhere/x.pcap'"), std::string::npos) << files;
  Script script(One({0, 1, 1'000}));
  const auto engine = Program()(star->request);  // the program is as good as before
  engine->Submit(script, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
}

TEST(PacketProgram, SeveralEnginesRunAtOnce) {
  const auto network = Star();
  const auto arrival = [&] {
    Script script(One({0, 1, 20'000'000}));
    const auto engine = Program()(network->request);
    engine->Submit(script, 0);
    engine->RunUntil(kNever);
    return script.arrivals[0];
  };
  const TimeNs expected = arrival();
  TimeNs there = 0;
  std::thread other([&] { there = arrival(); });
  EXPECT_EQ(arrival(), expected);
  other.join();
  EXPECT_EQ(there, expected);
  // A copy of this process starts its own.
  EXPECT_EQ(RunApart(60, [&] { return std::to_string(arrival()); }), std::to_string(expected));
}

TEST(PacketProgram, ADeadOneIsOneSentenceAndIsReplaced) {
  const auto network = Star();
  class Killer : public Script {
   public:
    using Script::Script;
    void OnStart(fabric::FlowSink& sink) override {
      for (const pid_t child : Children()) kill(child, SIGKILL);
      Script::OnStart(sink);
    }
  };
  const std::string died = MessageOf([&] {
    Killer script(One({0, 1, 1'000}));
    const auto engine = Program()(network->request);
    engine->Submit(script, 0);
    engine->RunUntil(kNever);
  });
  EXPECT_NE(died.find("legacy-packet: died of signal 9 (Killed)"), std::string::npos) << died;
  EXPECT_EQ(Program()(network->request)->Name(), "packet");
}

TEST(PacketProgram, WhatAGraphThrowsArrives) {
  const auto network = Star();
  class Thrower : public Script {
   public:
    using Script::Script;
    void OnStart(fabric::FlowSink&) override { throw Error("own words"); }
  };
  Thrower script(One({0, 1, 1'000}));
  {
    const auto engine = Program()(network->request);
    engine->Submit(script, 0);
    EXPECT_EQ(MessageOf([&] { engine->RunUntil(kNever); }), "own words");
  }
  EXPECT_EQ(Program()(network->request)->Name(), "packet");
}

// Returns the path of a program of these lines.
std::string Shell(const std::string& name, const std::string& lines) {
  const std::string path = OwnFile(name);
  std::ofstream(path) << "#!/bin/sh\n" << lines << "\n";
  chmod(path.c_str(), 0700);
  return path;
}

TEST(PacketProgram, AnotherProgramInItsPlaceIsNamed) {
  const auto message = [](const std::string& path, int patience = kPacketPatience) {
    return MessageOf([&] { PacketProcess process(path, patience); });
  };
  const std::string ends = "; it must be of the version of this program";
  EXPECT_EQ(message("/nowhere/legacy-packet"),
            "/nowhere/legacy-packet: cannot be started: No such file or directory");
  EXPECT_EQ(message("/bin/cat"), "/bin/cat: it is not legacy-packet" + ends);
  const std::string ended = Shell("ended", "exit 3");
  EXPECT_EQ(message(ended), ended + ": ended with status 3" + ends);
  const std::string silent = Shell("silent", "exec sleep 60");
  EXPECT_EQ(message(silent, 300), silent + ": it has said nothing for 300 ms" + ends);
  // The answer of a program of another version: a Failure that says so.
  const std::string text = "version of the protocol: got '1'; allowed: 2";
  std::ostringstream frame;
  const Bytes body = BytesOf(wire::Failure{text, true, std::nullopt});
  const auto length = static_cast<uint32_t>(body.size());
  frame.write(reinterpret_cast<const char*>(&length), sizeof length);
  frame.put(static_cast<char>(wire::Kind::Failure));
  frame.write(reinterpret_cast<const char*>(body.data()), length);
  const std::string answer = OwnFile("answer");
  std::ofstream(answer, std::ios::binary) << frame.str();
  EXPECT_EQ(message(Shell("later", "cat " + answer + "; exec sleep 60")), text + ends);
  // Bytes that are no frame.
  std::ofstream(answer, std::ios::binary) << std::string(64, '\xff');
  const std::string noise = message(Shell("noise", "cat " + answer + "; exec sleep 60"));
  EXPECT_NE(noise.find("frame of another program: got '4294967295 bytes'"), std::string::npos)
      << noise;
}

TEST(PacketProgram, AMissingOneIsNamed) {
  setenv("LEGACY_PACKET", "/nowhere/legacy-packet", 1);
  const std::string missing = MessageOf([] { FactoryOf(Fidelity::kPacket, "--fidelity"); });
  unsetenv("LEGACY_PACKET");
  EXPECT_EQ(missing, "/nowhere/legacy-packet: cannot be started: No such file or directory");
  ASSERT_TRUE(FindPacketProgram());
  EXPECT_EQ(Fidelities().front(), Fidelity::kPacket);
}

}  // namespace
}  // namespace legacy::packet_program_test
