#include "scenarios/network/options.h"

#include "base/error.h"
#include "base/nearest.h"
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
       "network topology: " + Topologies() +
           "; or a file; without a size it is sized to the workers",
       kUsual},
      {"bandwidth", kRate, "RATE", "1Gbps", group, "link rate", kUsual},
      {"delay", kTime, "TIME", "10us", group, "propagation delay of a link", kUsual},
      {"queue", kBytes, "BYTES", "0", group,
       "queue size of a switch port, in bytes; 0: as --transport sets it"},
      {"multipath", kText, "ecmp|spray", "ecmp", group,
       "multipath routing; ecmp: a flow keeps one shortest path; spray: each packet takes any "
       "shortest path"},
      {"ecmp-seed", kInteger, "N", "1", group, "seed of the hash by which ECMP chooses paths"},
      {"placement", kText, "PLACEMENT", "packed", group,
       "placement of workers on hosts: packed, strided, random:SEED"},
      {"transport", kText, "PRESET", "datacenter", group,
       "preset of TCP and queues: datacenter (DCTCP) or wan (Cubic); or roce[:key=value,...], RDMA "
       "over Ethernet (docs/network.md)",
       kUsual},
      {"mtu", kInteger, "BYTES", "1500", group,
       "largest packet in bytes, with IPv4 and TCP headers, from 576 to 65535; 9000: jumbo frames"},
      {"connections", kText, "KIND", "warm", group,
       "state of the connections at the start; warm: open, with the windows of a run before; cold: "
       "a "
       "round trip (TCP), then slow start; tls: two round trips; quic: one; quic-0rtt: none; "
       "persistent: open, with windows that shrink when idle",
       kUsual},
      {"congestion", kText, "reno|cubic|dctcp|bbr", "", group,
       "congestion control instead of that of --transport; bbr: without packets alone",
       kUnrecorded},
      {"streams", kInteger, "N", "1", group,
       "number of connections between two endpoints that share each message", kUnrecorded},
      {"changes", kText, "LINKS@SCHEDULE[|...]", "", group,
       "rates and failures over time: 'host3<>*@csv:lte.csv:scale=mean', "
       "'spine0@outage:from=60s,for=30s' (docs/wan.md)",
       kUnrecorded},
      {"background", kText, "none|poisson:load=0.3", "none", group,
       "background traffic: random flows by the mean load of the links on=access|core, or "
       "pairs=demands of an SNDlib file; sizes=websearch|datamining|FILE",
       kUnrecorded},
      {"fidelity", kText, "A,B,...", NamesOf(Fidelities(), ","), group,
       "network simulations to run: " + NamesOf(Fidelities()) +
           "; several are compared with packet, or else with the first; auto: flow, and packet "
           "where --packet-budget allows it",
       kUsual},
      {"flow-limit", kInteger, "N", "200000000", group,
       "number of flows above which a simulation is refused (the engines handle 1 to 15 million "
       "flows per second)"},
      {"packet-budget", kTime, "TIME", "60s", group,
       "wall time that --fidelity=auto may spend on packet simulations, over all points of a "
       "sweep"},
  };
}

std::vector<NetworkOption> CollectiveOptions() {
  const std::string group = kCollectiveGroup;
  return {
      {"collective", kText, "KIND", "ring-allreduce", group,
       "collective and algorithm: " + Collectives() +
           ", or auto: the fastest all-reduce on this network (all-gather where sizes differ)",
       kUsual},
      {"workers", kInteger, "N", "16", group,
       "number of workers of a collective or hosts of a pattern; with --flows, least number of "
       "hosts",
       kUsual},
      {"bytes", kBytes, "BYTES[,...]", "256KB", group,
       "message size: one for all workers, or a list with one for each", kUsual},
      {"density", kText, "D[,...]", "", group,
       "fraction of a dense fp32 gradient of --bytes that is sent, at 8 bytes per value: one for "
       "all workers, or a list with one for each",
       kUsual},
      {"matrix", kText, "FILE", "", group,
       "CSV file of all-to-allv: a line for each sender, with the bytes to each receiver (default: "
       "those of an all-to-all of --bytes)",
       kUnrecorded},
      {"order", kText, "rotated|index", "rotated", group,
       "order in which a worker of all-to-all or all-to-allv sends; rotated: its right neighbour "
       "first; index: worker 0 first",
       kUnrecorded},
      {"pxn", kText, "on|off", "off", group,
       "send messages of all-to-all or all-to-allv to other nodes over the worker of the sender's "
       "node on the destination's rail, which joins those to one destination, as NCCL's PXN; nodes "
       "have --group workers",
       kUnrecorded},
      {"buckets", kInteger, "N", "1", group,
       "number of pieces of the message that are in flight at once; piece i is ready after (i+1)/N "
       "of --compute"},
      {"group", kInteger, "N", "0", group,
       "number of workers per group of hierarchical algorithms and per node of channels, NVLS and "
       "relays; 0: the GPUs of a server where the topology's file says so, else as many as share "
       "the first worker's switch"},
      {"channels", kInteger, "N", "0", group,
       "number of rings or double trees at once, each with a part of the message, which are "
       "rotated over the workers of a node (docs/network.md); 0: the GPUs of a server where the "
       "topology's file has SimAI's header, else 1",
       kUsual},
      {"protocol", kText, "none|ll|ll128|simple|auto", "none", group,
       "protocol by which workers of rings, double trees and NVLS pass messages on, with NCCL's "
       "costs of each message; auto: the one that NCCL takes, with --collective=auto the algorithm "
       "too (docs/network.md)"},
      {"servers", kInteger, "N", "4", group, "number of servers of sharded-parameter-server"},
      {"colocated", kText, "on|off", "off", group, "place servers on the workers' hosts"},
      {"pull-bytes", kBytes, "BYTES", "", group,
       "bytes that each worker pulls from the servers (default: the largest message; with "
       "--density the union of the messages)"},
      {"sum-bytes", kBytes, "BYTES[,...]", "", group,
       "bytes of summed messages; sparse-tree: of 2, 4, 8, ... messages; scatter-reduce-allgather: "
       "of all (default: the largest message; with --density the expected union)"},
      {"piece-bytes", kBytes, "BYTES", "0", group,
       "piece size of pipelined algorithms, in bytes; 0: about 16 pieces"},
      {"window", kInteger, "N", "64", group,
       "number of flows that a sender has in flight at once, for direct algorithms, sharded "
       "servers and in-network"},
      {"root", kInteger, "N", "0", group, "index of the worker that broadcasts"},
      {"compute", kTime, "TIME", "0ns", group,
       "time that a device computes before the message is ready", kUsual},
      {"stragglers", kText, "MODEL", "none", group,
       "straggler model, with factors on --compute: fixed:count=2,factor=1.5, lognormal:sigma=0.3, "
       "... (docs/network.md)",
       kUsual},
      {"repeat", kInteger, "N", "1", group,
       "number of measured repetitions, each with the stragglers of its step", kUsual},
      {"seed", kInteger, "N", "1", group, "random seed of stragglers, patterns and engines",
       kUsual},
  };
}

std::vector<NetworkOption> FlowOptions() {
  const std::string group = "Any flows instead of a collective";
  return {
      {"flows", kText, "FILE", "", group,
       "CSV file of flows: source, destination, bytes, start in seconds; hosts by name or number",
       kUsual},
      {"pattern", kText, "PATTERN", "", group,
       "traffic pattern: permutation, incast:N (N workers to worker 0) or all-to-all, with flows "
       "of --bytes; or poisson:load=0.5,cdf=websearch|datamining|FILE,flows=1000",
       kUsual},
      {"jobs", kText, "FILE", "", "Several jobs",
       "YAML file of jobs that share the network, each with its own collective, workers, start and "
       "repetitions; options of collectives are what a job leaves out",
       kUnrecorded | kUsual},
      {"duration", kTime, "TIME", "", group,
       "length of a run in which the flows have no end: throughput and fairness over time; lines "
       "of --flows are then source, destination, start in seconds",
       kUnrecorded},
      {"window-time", kTime, "TIME", "", group,
       "length of the windows of time for --duration (default: a twentieth of it)", kUnrecorded},
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
  throw NotAmong(where, name, names);
}

OptionValues DefaultValues() {
  OptionValues values;
  for (const NetworkOption& option : NetworkOptions()) values[option.name] = option.fallback;
  return values;
}

}  // namespace legacy
