#include "scenarios/network/options/fabric_options.h"

#include "base/option_forms.h"
#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/engine/transport.h"
#include "ns3-module/fabric/tcp/controls.h"
#include "ns3-module/fabric/topology/report.h"

namespace legacy {
namespace {

using namespace option_forms;

std::string Topologies() {
  std::vector<std::string> names;
  for (const fabric::TopologyType& type : fabric::TopologyTypes()) names.push_back(type.name);
  return Join(names, ", ");
}

// Options of the topology, its links, and the placement of workers.
OptionTable<FabricOptions> OptionsOfTopology() {
  return {
      WithAlias(Text<&FabricOptions::topology>(
                    "network.topology", "--topo", "NAME[:k=v,...]|FILE",
                    "network topology: " + Topologies() +
                        "; or a file; without a size it is sized to the workers"),
                "--topology") |
          kUsual | kReadByClients | kMayFurther,
      Text<&FabricOptions::bandwidth>("network.bandwidth", "--bandwidth", "1Gbps", "link rate") |
          kUsual | kMayFurther,
      Text<&FabricOptions::delay>("network.delay", "--delay", "10us",
                                  "propagation delay of a link") |
          kUsual | kMayFurther,
      Text<&FabricOptions::queue>("network.queue", "--queue", "BYTES",
                                  "queue size of a switch port, in bytes; 0: as --transport sets "
                                  "it") |
          kMayFurther,
      Text<&FabricOptions::multipath>(
          "network.multipath", "--multipath", "ecmp|spray",
          "multipath routing; ecmp: a flow keeps one shortest path; spray: each packet takes any "
          "shortest path") |
          kMayFurther,
      Text<&FabricOptions::placement>("network.placement", "--placement",
                                      "packed|strided|random:SEED",
                                      "placement of workers on hosts") |
          kMayFurther,
      Text<&FabricOptions::changes>(
          "network.changes", "--changes", "LINKS@SCHEDULE[|...]",
          "rates and failures over time: 'host3<>*@csv:lte.csv:scale=mean', "
          "'spine0@outage:from=60s,for=30s' (docs/wan.md)") |
          kUnrecorded,
      Text<&FabricOptions::background>(
          "network.background", "--background", "none|poisson:load=0.3",
          "background traffic: random flows by the mean load of the links on=access|core, or "
          "pairs=demands of an SNDlib file; sizes=websearch|datamining|FILE") |
          kUnrecorded,
      Text<&FabricOptions::packet_budget>(
          "network.packet_budget", "--packet-budget", "TIME",
          "wall time that --fidelity=auto may spend on packet simulations, over all points of a "
          "sweep"),
  };
}

OptionTable<FabricOptions> OptionsOfTransport() {
  return {
      Text<&FabricOptions::transport>(
          "network.transport", "--transport", "datacenter|wan|ns3:...|roce",
          "preset of TCP and queues: datacenter (DCTCP) or wan (Cubic), with :train=N for up to N "
          "segments in a frame, or ns3: before it for packets of ns-3's sockets; or "
          "roce[:key=value,...], RDMA over Ethernet (docs/roce.md)") |
          kUsual | kReadByClients | kMayFurther,
      Integer<&FabricOptions::mtu, fabric::kLeastMtu, fabric::kMostMtu>(
          "network.mtu", "--mtu",
          "largest packet in bytes, with IPv4 and TCP headers, from 576 to 65535; 9000: jumbo "
          "frames"),
      Text<&FabricOptions::connections>(
          "network.connections", "--connections", "KIND",
          "state of the connections at the start of a step; warm: open, with the windows of a step "
          "before; cold: a round trip (TCP), then slow start; tls: two round trips; quic: one; "
          "quic-0rtt: none; persistent: open, with windows that shrink when idle") |
          kUsual | kReadByClients | kMayFurther,
      Text<&FabricOptions::congestion>(
          "network.congestion", "--congestion", fabric::TcpControlNames("|"),
          "congestion control instead of that of --transport; bbr: not with ns3:") |
          kReadByClients | kUnrecorded,
      Text<&FabricOptions::skip>(
          "network.skip", "--skip", "none|steady",
          "packets that are not simulated; steady: those of messages that repeat in equal times "
          "(docs/engines.md)") |
          kMayFurther,
      Integer<&FabricOptions::streams, 1, kMostStreams>(
          "network.streams", "--streams",
          "number of connections between two endpoints that share each message") |
          kReadByClients | kUnrecorded,
  };
}

OptionTable<FabricOptions> OptionsOfCollectives() {
  return {
      Integer<&FabricOptions::group, 0, 65536>(
          "network.group", "--group",
          "number of workers per group of hierarchical algorithms and per node of channels, NVLS "
          "and relays; 0: the GPUs of a server where the topology's file says so, else as many as "
          "share the first worker's switch") |
          kMayFurther,
      Integer<&FabricOptions::channels, 0, fabric::kMostChannels>(
          "network.channels", "--channels",
          "number of rings or double trees at once, each with a part of the message, which are "
          "rotated over the workers of a node (docs/collectives.md); 0: the GPUs of a server where "
          "the topology's file has SimAI's header, else with a protocol of auto as many as NCCL "
          "finds, else 1") |
          kMayFurther,
      Text<&FabricOptions::protocol>(
          "network.protocol", "--protocol", "none|ll|ll128|simple|auto",
          "protocol by which workers of rings, double trees and NVLS pass messages on, with NCCL's "
          "costs of each message; auto: the one that NCCL takes, with an algorithm of auto that "
          "one too (docs/collectives.md)") |
          kMayFurther,
      Integer<&FabricOptions::servers, 1, 65536>("network.servers", "--servers",
                                                 "number of servers of the sharded parameter "
                                                 "server") |
          kMayFurther,
  };
}

}  // namespace

NetworkRequest RequestOf(const FabricOptions& options) {
  NetworkRequest request;
  request.topology.text = options.topology;
  request.topology.rateBps = *options.bandwidth;
  request.topology.delay = *options.delay;
  request.topology.queueBytes = *options.queue;
  request.topology.multipath = *options.multipath;
  request.topology.changes = options.changes;
  request.placement.text = options.placement;
  request.transport = *options.transport;
  request.transport.SetMtu(options.mtu);
  request.transport.connections = *options.connections;
  if (!options.congestion->empty()) request.transport.congestionControl = *options.congestion;
  request.transport.streams = options.streams;
  request.transport.skip = *options.skip;
  request.background = *options.background;
  return request;
}

const Option<FabricOptions>& FabricRow(const std::string& flag) {
  static const auto rows = JoinedTables<FabricOptions>(
      {{"", OptionsOfTopology()}, {"", OptionsOfTransport()}, {"", OptionsOfCollectives()}});
  return OptionOfFlag(rows, flag);
}

}  // namespace legacy
