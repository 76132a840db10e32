// Checks of RoCEv2 and TCP with trains of frames: their times and events, compared with those of
// single frames.
#include <algorithm>
#include <cmath>

#include "analysis/recorded_table.h"
#include "ns3-module/fabric/topology/placement.h"
#include "ns3-module/helper/packet-engine-helper.h"
#include "scenarios/network/measure.h"
#include "scenarios/network/validation/flows_at_once.h"
#include "scenarios/network/validation/roce_checks.h"
#include "scenarios/network/validation/roce_flows.h"
#include "scenarios/network/validation/validation_cases.h"

namespace legacy::roce_validation {
namespace {

// A TrainCase has flows, or a ring all-reduce, that are run with trains and without them.
struct TrainCase {
  std::string name;
  std::string transport;
  std::function<fabric::Topology()> topology;  // empty: a ring on a fat-tree
  std::vector<fabric::Flow> flows;
  double tolerance = 0;  // relative tolerance of the time of each flow
  double fewer = 0;      // factor by which there are fewer events, at least
  bool quick = false;
};

// The result of a run with trains, or without them.
struct TrainRun {
  std::vector<TimeNs> times;
  double events = 0;
};

TrainRun RunTrains(const TrainCase& one, const std::string& train) {
  const bool options = one.transport.find(':') != std::string::npos;
  const std::string transport = one.transport + (options ? "," : ":") + "train=" + train;
  if (!one.topology) {
    const Experiment experiment = ExperimentOf(
        {"topo=fat-tree:k=4 workers=16 bandwidth=100Gbps delay=1us bytes=44.7MB transport=" +
         transport},
        {"packet"});
    const Measurement result = Measure(Prepare(experiment), {}).front();
    return {{result.Time()}, static_cast<double>(result.timing.counters.events)};
  }
  const fabric::Topology topology = one.topology();
  const fabric::Placement placement =
      fabric::MakePlacement({"packed", static_cast<int>(topology.Hosts().size())}, topology);
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport = fabric::MakeTransport(transport);
  const auto engine = fabric::MakePacketEngine(request);
  FlowsAtOnce flows(one.flows);
  engine->Submit(flows, 0);
  engine->RunUntil(kNever);
  return {flows.Arrived(), static_cast<double>(engine->Counters().events)};
}

// Returns the time of the flow whose time differs most, or the numbers of events.
RoceFigure CompareTrains(const TrainCase& one, bool events) {
  const TrainRun single = RunTrains(one, "1");
  const TrainRun trains = RunTrains(one, "8");
  if (events) {
    return {trains.events, single.events, one.fewer * trains.events <= single.events};
  }
  RoceFigure worst;
  for (size_t i = 0; i < single.times.size(); ++i) {
    const RoceFigure flow = Within(static_cast<double>(trains.times[i]),
                                   static_cast<double>(single.times[i]), one.tolerance);
    const auto error = [](const RoceFigure& figure) {
      return std::abs(figure.ours / figure.expected - 1);
    };
    worst = i == 0 || error(flow) > error(worst) ? flow : worst;
  }
  return worst;
}

std::vector<fabric::Flow> FlowsToOne(int senders, int64_t bytes) {
  std::vector<fabric::Flow> flows;
  for (int i = 0; i < senders; ++i) flows.push_back({i, senders, bytes});
  return flows;
}

constexpr int64_t kMb = 1'000'000;

std::function<fabric::Topology()> Star(int hosts) {
  return [hosts] { return fabric::RoceStar(hosts, kRate, kDelay); };
}

std::function<fabric::Topology()> FasterTrunk(int left, int right) {
  return [=] { return fabric::RoceTrunk(left, right, kRate, 4 * kRate, kDelay); };
}

std::vector<TrainCase> RoceCases() {
  const std::string none = "roce:cc=none,ecn=off";
  const std::string dcqcn = "roce:cc=dcqcn";
  std::vector<fabric::Flow> victim = FlowsToOne(5, 2 * kMb);
  for (fabric::Flow& flow : victim) flow.destination = 6;
  victim.push_back({5, 7, 2 * kMb});
  return {
      {"one flow of 1 MB, none", none, Star(2), {{0, 1, kMb}}, 0.01, 4, true},
      {"one flow of 100 MB, none", none, Star(2), {{0, 1, 100 * kMb}}, 0.01, 4},
      {"one flow of 10 MB over a trunk of four times the rate, none",
       none,
       FasterTrunk(1, 1),
       {{0, 1, 10 * kMb}},
       0.01,
       4},
      {"ring all-reduce of 44.7 MB, 16 workers of a k=4 fat-tree, dcqcn", dcqcn, {}, {}, 0.01, 4},
      {"15 to 1, 1 MB each, none, 64 MiB", none + ",buffer=64MiB", Star(16), FlowsToOne(15, kMb),
       0.05, 4, true},
      {"15 to 1, 1 MB each, none, 4 MiB", none + ",buffer=4MiB", Star(16), FlowsToOne(15, kMb),
       0.05, 4, true},
      {"victim of five to one, none, 2 MiB", none + ",buffer=2MiB", FasterTrunk(6, 2), victim, 0.05,
       4},
      {"8 to 1, 1 MB each, dcqcn, 32 MiB", dcqcn + ",buffer=32MiB", Star(9), FlowsToOne(8, kMb),
       0.05, 1},
      {"8 to 1, 10 MB each, dcqcn, 32 MiB", dcqcn + ",buffer=32MiB", Star(9),
       FlowsToOne(8, 10 * kMb), 0.05, 1},
  };
}

std::vector<TrainCase> TcpCases() {
  const std::string dctcp = "datacenter";
  const auto wide = [] { return fabric::RoceStar(2, kGbps, 5 * kMs); };
  return {
      {"TCP, one flow of 1 MB", dctcp, Star(2), {{0, 1, kMb}}, 0.01, 4, true},
      {"TCP, one flow of 100 MB", dctcp, Star(2), {{0, 1, 100 * kMb}}, 0.01, 4},
      {"TCP, one flow of 10 MB over a trunk of four times the rate",
       dctcp,
       FasterTrunk(1, 1),
       {{0, 1, 10 * kMb}},
       0.01,
       4},
      {"TCP, one flow of 100 MB at 1 Gbit/s over 20 ms, wan",
       "wan",
       wide,
       {{0, 1, 100 * kMb}},
       0.01,
       4},
      {"TCP, ring all-reduce of 44.7 MB, 16 workers of a k=4 fat-tree", dctcp, {}, {}, 0.01, 4},
      {"TCP, 15 to 1, 1 MB each", dctcp, Star(16), FlowsToOne(15, kMb), 0.01, 1, true},
      {"TCP, 8 to 1, 10 MB each", dctcp, Star(9), FlowsToOne(8, 10 * kMb), 0.01, 1},
  };
}

}  // namespace

RoceChecks Trains() {
  RoceChecks checks("train");
  std::vector<TrainCase> cases = RoceCases();
  for (const TrainCase& one : TcpCases()) cases.push_back(one);
  for (const TrainCase& one : cases) {
    checks.Add(
        "trains: " + one.name, "ns of the flow that differs most",
        FormatFixed(100 * one.tolerance, 0) + " %", 0, [=] { return CompareTrains(one, false); },
        one.quick);
    checks.Add(
        "events of trains: " + one.name, "events",
        one.fewer > 1 ? FormatFixed(one.fewer, 0) + " times fewer" : "no more", 0,
        [=] { return CompareTrains(one, true); }, one.quick);
  }
  return checks;
}

}  // namespace legacy::roce_validation
