// Connections between the same two hosts: each has a path of its own, the same at all fidelities.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "scenarios/network/jobs/jobs_run.h"
#include "tests/network/network_testing.h"

namespace legacy::connections_test {
namespace {

// Two leaves with a host each, and eight spines of a quarter of the hosts' rate.
Changes OverSpines(const Changes& changes) {
  Changes all = {{"topo", "leaf-spine:leaves=2,hosts=1,spines=8,spine.rate=2500Mbps"}};
  if (changes.count("flows") == 0) all["workers"] = "2";  // a list has all hosts
  for (const auto& [name, value] : changes) all[name] = value;
  return all;
}

// Returns the fidelities and transports that exist in this build.
std::vector<Changes> Ways(bool roce = true) {
  std::vector<Changes> ways;
  for (const Fidelity fidelity : Fidelities()) {
    ways.push_back({{"fidelity", NameOf(fidelity)}});
    if (roce) ways.push_back({{"fidelity", NameOf(fidelity)}, {"transport", "roce"}});
  }
  return ways;
}

// The connections over each uplink of the first leaf, which is the second link of the path.
using Uplinks = std::map<fabric::DirectedLink, int64_t>;

// Returns where ECMP sends flows from the first host.
Uplinks Expected(const Network& network, const std::vector<fabric::Flow>& flows) {
  Uplinks uplinks;
  for (const fabric::Flow& flow : flows) {
    const auto [from, to, id] = network.connections->Of(flow, flow.lane);
    ++uplinks[network.topology.Route(from, to, id)[1]];
  }
  return uplinks;
}

// Returns the same, computed from the bytes that uplinks carried, if all connections have sent
// equally many. ACKs are 4 %.
Uplinks Carried(const fabric::Topology& topology, const std::vector<fabric::LinkCounters>& links,
                int connections) {
  std::map<fabric::DirectedLink, int64_t> bytes;
  const int leaf = topology.To(topology.Out(topology.Hosts()[0]).front());
  int64_t all = 0;
  for (const fabric::DirectedLink link : topology.Out(leaf)) {
    if (topology.IsHost(topology.To(link))) continue;
    bytes[link] = links[link].bytes;
    all += links[link].bytes;
  }
  Uplinks uplinks;
  for (const auto& [link, its] : bytes) {
    const int64_t count = (its * connections + all / 2) / all;
    if (count > 0) uplinks[link] = count;
  }
  return uplinks;
}

Uplinks Carried(const Changes& options, int connections) {
  const PreparedExperiment prepared = Prepare(ExperimentWith(OverSpines(options)));
  const Measurement measured = Measure(prepared, {}).front();
  return Carried(prepared.network->topology, measured.timing.links, connections);
}

std::vector<fabric::Flow> FlowsOfLanes(int lanes, int source = 0, int destination = 1) {
  std::vector<fabric::Flow> flows(lanes);
  for (int lane = 0; lane < lanes; ++lane) {
    flows[lane].source = source;
    flows[lane].destination = destination;
    flows[lane].lane = static_cast<uint16_t>(lane);
  }
  return flows;
}

constexpr int kConnections = 8;

// Options by which eight connections join two hosts; those of TCP alone, and the others.
std::vector<Changes> Cases(const std::string& list, bool roce) {
  std::vector<Changes> cases = {
      {{"channels", "8"}, {"bytes", "800KB"}},
      {{"channels", "8"}, {"bytes", "800KB"}, {"collective", "double-tree-allreduce"}},
      {{"flows", list}}};
  if (!roce) cases.push_back({{"streams", "8"}, {"collective", "broadcast"}, {"bytes", "800KB"}});
  return cases;
}

TEST(Connections, TakeTheSamePathsAtAllFidelities) {
  const std::string list = OwnFile("eight.csv");
  {
    std::ofstream text(list);
    for (int i = 0; i < kConnections; ++i) text << "0,1,100KB\n";
  }
  std::vector<Uplinks> by_seed;
  for (const char* seed : {"1", "2"}) {
    const PreparedExperiment any = Prepare(ExperimentWith(OverSpines({{"ecmp-seed", seed}})));
    const Uplinks expected = Expected(*any.network, FlowsOfLanes(kConnections));
    EXPECT_GE(expected.size(), 4u) << "eight connections over eight spines";
    by_seed.push_back(expected);
    for (const Changes& way : Ways()) {
      for (Changes options : Cases(list, way.count("transport") > 0)) {
        options.insert(way.begin(), way.end());
        options["ecmp-seed"] = seed;
        std::string shown;
        for (const auto& [name, value] : options) shown += " " + name + "=" + value;
        EXPECT_EQ(Carried(options, kConnections), expected) << shown;
      }
    }
  }
  EXPECT_NE(by_seed[0], by_seed[1]);
  std::remove(list.c_str());
}

// The busiest spine decides, as all channels carry as much.
TEST(Connections, AreAsFastAsTheBusiestPath) {
  const auto time = [](const char* channels) {
    const PreparedExperiment prepared = Prepare(ExperimentWith(
        OverSpines({{"channels", channels}, {"bytes", "80MB"}, {"fidelity", "flow"}})));
    return static_cast<double>(Measure(prepared, {}).front().Time());
  };
  const PreparedExperiment any = Prepare(ExperimentWith(OverSpines({})));
  int64_t most = 0;
  for (const auto& [link, connections] : Expected(*any.network, FlowsOfLanes(kConnections))) {
    most = std::max(most, connections);
  }
  const double slowest =
      std::max(static_cast<double>(most) / kConnections, .25);  // the hosts' links
  EXPECT_NEAR(time("8") / time("1"), slowest, .02);
}

// Jobs on the same hosts have connections of their own, as their processes have.
TEST(Connections, OfJobsOnTheSameHostsAreTheirOwn) {
  const std::string path = OwnFile("same-hosts.yaml");
  std::ofstream(path) << "jobs:\n"
                         "  - {hosts: [0, 1], collective: broadcast, bytes: 400KB}\n"
                         "  - {hosts: [0, 1], collective: broadcast, bytes: 400KB}\n"
                         "  - {hosts: [0, 1], collective: broadcast, bytes: 400KB}\n";
  Uplinks expected;
  for (const Changes& way : Ways()) {
    Changes options = OverSpines(way);
    options.erase("workers");
    options["ecmp-seed"] = "3";
    const ExperimentOptions values = With(options);
    const PreparedJobs prepared = PrepareJobs(ReadJobs(path, values, {}), values, {});
    std::vector<fabric::Flow> flows;
    for (const PlacedJob& job : prepared.jobs) {
      flows.push_back(FlowsOfLanes(1, job.first_endpoint, job.first_endpoint + 1).front());
    }
    expected = Expected(*prepared.network, flows);
    EXPECT_GE(expected.size(), 2u);
    const JobsMeasurement measured = MeasureJobs(prepared).front();
    EXPECT_EQ(Carried(prepared.network->topology, measured.timing.links, 3), expected)
        << way.at("fidelity");
  }
  std::remove(path.c_str());
}

// A short flow between two hosts does not wait for a long one. Analytically it waits for the NIC.
TEST(Connections, OfAListRunSideBySide) {
  const std::string path = OwnFile("beside.csv");
  std::ofstream(path) << "0,1,20MB,0\n0,1,20KB,0.002\n";
  for (Changes options : Ways()) {
    if (options["fidelity"] == "analytic") continue;
    options["topo"] = "star:hosts=2";
    options["flows"] = path;
    const PreparedExperiment prepared = Prepare(ExperimentWith(options));
    const std::vector<Measurement> measured = Measure(prepared, {});
    for (const RecordedFlow& flow : measured.front().flows) {
      if (flow.flow.bytes > 20'000) continue;
      const auto ideal = static_cast<double>(IdealTime(prepared.flows[1], *prepared.network));
      EXPECT_LT(static_cast<double>(flow.end - flow.start), 20 * ideal)
          << options["fidelity"] << " " << options["transport"];
    }
  }
  std::remove(path.c_str());
}

// Names have ranks, lane and channel; the other way is the same connection's.
TEST(Connections, HaveNamesOfTheirOwn) {
  fabric::Placement placement;
  placement.hosts = {3, 4, 3};
  placement.servers = {4};
  const fabric::ConnectionNames names(placement);
  std::set<fabric::ConnectionName> all;
  for (const int source : {0, 2}) {
    for (const int destination : {1, 3}) {
      for (const uint16_t lane : {0, 1, 7, 65535}) {
        fabric::Flow flow;
        flow.source = source;
        flow.destination = destination;
        const fabric::ConnectionName name = names.Of(flow, lane);
        EXPECT_EQ(name.source, 3);
        EXPECT_EQ(name.destination, 4);
        EXPECT_EQ(name.Reversed().Reversed().id, name.id);
        std::swap(flow.source, flow.destination);
        EXPECT_EQ(names.Of(flow, lane).id, name.Reversed().id);
        all.insert({name, name.OfChannel(1), name.OfChannel(2)});
      }
    }
  }
  EXPECT_EQ(all.size(), 4u * 4 * 3);
  fabric::Flow first;
  first.destination = 1;
  EXPECT_EQ(names.Of(first, 0).id, 0u);
}

}  // namespace
}  // namespace legacy::connections_test
