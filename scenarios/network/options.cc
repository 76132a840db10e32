#include "scenarios/network/options.h"

#include "base/error.h"
#include "base/parse.h"
#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/topology/report.h"
#include "scenarios/network/engines.h"

namespace legacy {
namespace {

using enum OptionKind;

std::string Topologies() {
  std::vector<std::string> names;
  for (const fabric::TopologyType& type : fabric::TopologyTypes()) names.push_back(type.name);
  return Join(names, ", ");
}

std::string Collectives() {
  std::vector<std::string> names;
  for (const fabric::CollectiveAlgorithm algorithm : fabric::CollectiveAlgorithms()) {
    names.push_back(fabric::ToString(algorithm));
  }
  return Join(names, ", ");
}

std::vector<NetworkOption> FabricOptions() {
  const std::string group = "Network";
  return {
      {"topo", kText, "NAME[:k=v,...]|FILE", "fat-tree", group,
       Topologies() + "; sized to the workers where no size is given; or a file"},
      {"bandwidth", kRate, "RATE", "1Gbps", group, "rate of each link"},
      {"delay", kTime, "TIME", "10us", group, "propagation delay of each link"},
      {"queue", kBytes, "BYTES", "0", group, "queue of each switch port; 0: the transport's"},
      {"multipath", kText, "ecmp|spray", "ecmp", group,
       "ecmp: a flow keeps one shortest path; spray: each packet takes any"},
      {"ecmp-seed", kInteger, "N", "1", group, "of the hash that picks paths"},
      {"placement", kText, "PLACEMENT", "packed", group,
       "which host each worker sits on: packed, strided, random:SEED"},
      {"transport", kText, "PRESET", "datacenter", group, "of TCP and queues: datacenter, wan"},
      {"mtu", kInteger, "BYTES", "1500", group,
       "largest packet, headers of IPv4 and TCP included: 576 to 65535; 9000: jumbo frames"},
      {"connections", kText, "warm|cold", "warm", group,
       "warm: the second of two back to back counts, all connections are open; cold: the first"},
      {"fidelity", kText, "A,B,...", Join(Fidelities(), ","), group,
       "how closely to look, " + Join(Fidelities(), ", ") +
           "; several are compared with packet, or with the first; auto: flow, and packet where "
           "that "
           "is affordable"},
      {"flow-limit", kInteger, "N", "200000000", group,
       "flows of one simulation, above which it is refused: minutes to hours at 1 to 15 million a "
       "second"},
      {"packet-budget", kText, "TIME", "60s", group,
       "wall time that fidelity auto spends on packets, over all points of a sweep"},
  };
}

std::vector<NetworkOption> CollectiveOptions() {
  const std::string group = kCollectiveGroup;
  return {
      {"collective", kText, "KIND", "ring-allreduce", group,
       Collectives() + ", or auto: the fastest all-reduce (all-gather where sizes differ) here"},
      {"workers", kInteger, "N", "16", group,
       "that take part; hosts of a pattern; with --flows the fabric has at least so many hosts"},
      {"bytes", kBytes, "BYTES[,...]", "256KB", group,
       "of each worker's message; one for all, or a list of one for each"},
      {"density", kText, "D[,...]", "", group,
       "bytes is a dense fp32 gradient of which this fraction is sent, 8 bytes a value; one, or "
       "one for each worker"},
      {"buckets", kInteger, "N", "1", group,
       "the message in N pieces that are in flight at once, piece i ready at (i+1)/N of compute"},
      {"group", kInteger, "N", "0", group,
       "workers of a group in hierarchical algorithms; 0: those on the first worker's switch"},
      {"servers", kInteger, "N", "4", group, "of sharded-parameter-server"},
      {"colocated", kText, "on|off", "off", group, "servers sit on the workers' hosts"},
      {"pull-bytes", kBytes, "BYTES", "", group,
       "what each worker pulls from the servers; default: the largest message, with a density the "
       "union of the messages"},
      {"sum-bytes", kBytes, "BYTES[,...]", "", group,
       "sparse-tree: the sums of 2, 4, 8, ... messages; scatter-reduce-allgather: the whole sum; "
       "default: the largest message, with a density the expected union"},
      {"piece-bytes", kBytes, "BYTES", "0", group, "pieces of pipelined kinds; 0: about 16 pieces"},
      {"window", kInteger, "N", "64", group,
       "direct kinds, sharded servers, in-network: flows that a sender has on their way at once"},
      {"root", kInteger, "N", "0", group, "worker that broadcasts"},
      {"compute", kTime, "TIME", "0ns", group, "device time before the message is ready"},
      {"stragglers", kText, "MODEL", "none", group,
       "factors on compute: fixed:count=2,factor=1.5, lognormal:sigma=0.3, ... (docs/network.md)"},
      {"repeat", kInteger, "N", "1", group,
       "measured repetitions, each with the stragglers of its step"},
      {"seed", kInteger, "N", "1", group, "of stragglers, patterns and random engines"},
  };
}

std::vector<NetworkOption> FlowOptions() {
  const std::string group = "Any flows instead of a collective";
  return {
      {"flows", kText, "FILE", "", group,
       "CSV: source, destination, bytes, start in seconds; hosts by name or number"},
      {"pattern", kText, "PATTERN", "", group,
       "permutation, incast:N (N workers to worker 0), all-to-all: of --bytes each; or "
       "poisson:load=0.5,cdf=websearch|datamining|FILE,flows=1000"},
  };
}

}  // namespace

const std::vector<NetworkOption>& NetworkOptions() {
  static const std::vector<NetworkOption> options = [] {
    std::vector<NetworkOption> all;
    for (auto part : {FabricOptions(), CollectiveOptions(), FlowOptions()}) {
      for (NetworkOption& option : part) all.push_back(std::move(option));
    }
    return all;
  }();
  return options;
}

const NetworkOption& FindNetworkOption(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const NetworkOption& option : NetworkOptions()) {
    if (option.name == name) return option;
    names.push_back(option.name);
  }
  const std::string nearest = Nearest(name, names);
  throw Error(where, name, (nearest.empty() ? "" : nearest + "? One of ") + Join(names, ", "));
}

OptionValues DefaultValues() {
  OptionValues values;
  for (const NetworkOption& option : NetworkOptions()) values[option.name] = option.fallback;
  return values;
}

}  // namespace legacy
