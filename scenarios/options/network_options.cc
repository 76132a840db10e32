// Options of the network, and of the clock that devices and codecs go by.
#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/step/synchronisation.h"
#include "scenarios/options/network_schedule.h"
#include "scenarios/options/option_forms.h"
#include "trainer/clock/transfers.h"

namespace legacy {
namespace {

using namespace option_forms;

void CheckNetworkSchedule(const std::string& text, const std::string& key) {
  ParseNetworkSchedule(text, "", "", key);
}
void CheckSync(const std::string& text, const std::string& key) {
  Checked([&] { fabric::Synchronisation(text, key); });
}
void CheckFidelity(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"auto", "packet", "flow", "analytic"});
}
void CheckDoctorFidelity(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"packet", "flow", "analytic"});
}
void CheckMultipath(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"ecmp", "spray"});
}
void CheckTransport(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"datacenter", "wan"});
}
void CheckConnections(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"warm", "cold"});
}
void CheckAggregation(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"collective", "parameter-server", "sharded-parameter-server"});
}
void CheckAllReduce(const std::string& text, const std::string& key) {
  ParseAlgorithm(text, key, Collective::kAllReduce);
}
void CheckAllGather(const std::string& text, const std::string& key) {
  ParseAlgorithm(text, key, Collective::kAllGather);
}
void CheckPull(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"union", "dense"});
}
void CheckLaunches(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"profile", "fused", "per-layer"});
}

}  // namespace

std::vector<ScenarioOption> OptionsOfNetwork() {
  return {
      Text<&Scenario::topology>("network.topology", "--topo", "NAME[:k=v,...]|FILE",
                                "fat-tree:k=4, leaf-spine, dumbbell, star, or a YAML file"),
      Text<&Scenario::bandwidth, CheckRate>("network.bandwidth", "--bandwidth", "1Gbps",
                                            "rate of each link"),
      Text<&Scenario::delay, CheckTime>("network.delay", "--delay", "10us",
                                        "propagation delay of each link"),
      Text<&Scenario::network_schedule, CheckNetworkSchedule>(
          "network.phases", "--phases", "none|c1|c2|0%:KEY=VALUE,...;50%:...",
          "a network that changes during the training: bandwidth "
          "and delay of each link from a part "
          "of the steps on"),
      Text<&Scenario::further>("network.further", "--networks", "none|auto|NAME:KEY=VALUE,...;...",
                               "further networks that the same trainings are timed on, each by "
                               "what differs from this one; auto: 10Gbps, 100Gbps and a WAN where "
                               "only the topology was chosen"),
      Text<&Scenario::queue, CheckBytes>("network.queue", "--queue", "BYTES",
                                         "queue of each switch port; 0: the transport's"),
      Text<&Scenario::multipath, CheckMultipath>(
          "network.multipath", "--multipath", "ecmp|spray",
          "ecmp: a flow keeps one shortest path; spray: each "
          "packet takes any"),
      Text<&Scenario::placement>("network.placement", "--placement", "packed|strided|random:SEED",
                                 "which host each worker sits on"),
      Text<&Scenario::stragglers>("network.stragglers", "--stragglers", "MODEL",
                                  "none, fixed:count=2,factor=1.5, fixed:workers=3+7,factor=2, "
                                  "slow:probability=0.1,factor=2, lognormal:sigma=0.3, "
                                  "exponential:scale=0.2, pareto:shape=2.5, trace:file=FILE; "
                                  "drawn ones with lasting=STEPS|run"),
      Text<&Scenario::sync, CheckSync>("network.sync", "--sync", "MODEL",
                                       "whose gradients a step waits for: barrier (all), "
                                       "backup:k=2 (drops the slowest 2), deadline:time=50ms, "
                                       "deadline:factor=1.5 (of the median), both with min=1"),
      Text<&Scenario::fidelity, CheckFidelity>("network.fidelity", "--fidelity",
                                               "packet|flow|analytic|auto",
                                               "packet: ns-3 with real TCP; flow: fluid max-min; "
                                               "analytic: alpha-beta; auto: packet where that is "
                                               "affordable, else flow with a sample of packets"),
      Text<&Scenario::packet_budget, CheckTime>("network.packet_budget", "--packet-budget", "TIME",
                                                "wall time that fidelity auto spends on packets"),
      Text<&Scenario::transport, CheckTransport>("network.transport", "--transport",
                                                 "datacenter|wan", "preset of TCP and queues"),
      Integer<&Scenario::mtu, fabric::kLeastMtu, fabric::kMostMtu>(
          "network.mtu", "--mtu",
          "largest packet, headers of IPv4 and TCP included: 576 to 65535; "
          "9000: jumbo frames"),
      Text<&Scenario::connections, CheckConnections>("network.connections", "--connections",
                                                     "warm|cold",
                                                     "warm: a step's time is that of the second of "
                                                     "two back to back"),
      Text<&Scenario::aggregation, CheckAggregation>("network.aggregation", "--aggregation",
                                                     "collective|[sharded-]parameter-server",
                                                     "among the workers, or through servers"),
      Text<&Scenario::allreduce, CheckAllReduce>(
          "network.allreduce", "--allreduce", "NAME|auto",
          "how linear messages (dense, fp16, randomk) are summed: ring-allreduce, "
          "halving-doubling-allreduce, double-tree-allreduce, direct-allreduce, "
          "hierarchical-allreduce, in-network-allreduce; auto: the fastest on an idle fabric"),
      Text<&Scenario::allgather, CheckAllGather>(
          "network.allgather", "--allgather", "NAME|auto",
          "how other messages (topk) reach everyone: ring-allgather, direct-allgather, "
          "hierarchical-allgather, auto"),
      Integer<&Scenario::group, 0>("network.group", "--group",
                                   "workers of a group of the hierarchical ones; 0: those on the "
                                   "first worker's switch"),
      Integer<&Scenario::servers, 1>("network.servers", "--servers",
                                     "servers of the sharded parameter server"),
      Text<&Scenario::pull, CheckPull>("network.pull", "--pull", "union|dense",
                                       "what workers pull from the server after sparse pushes: "
                                       "the messages, or the dense mean"),
      Switch<&Scenario::memoise>("network.memoise", "--memoise", "simulate identical steps once"),
      Text<&Scenario::doctor>("network.doctor", "--doctor", "[on|off|STEPS]",
                              "say what a step is bound by, of each policy and the "
                              "first seed; alone: the step of the median time"),
      Text<&Scenario::doctor_fidelity, CheckDoctorFidelity>(
          "network.doctor_fidelity", "--doctor-fidelity", "packet|flow|analytic",
          "of the doctor's simulations"),
      Text<&Scenario::trace_steps>("network.trace_steps", "--trace-steps", "0,10-12",
                                   "Chrome or Perfetto traces of these steps"),
      Text<&Scenario::trace_workers>("network.trace_workers", "--trace-workers", "0-3|all",
                                     "endpoints in the traces"),
      Text<&Scenario::pcap>("network.pcap", "--pcap", "PREFIX",
                            "packet fidelity: pcap files, one for each host's port; large"),
      Text<&Scenario::flow_monitor>("network.flow_monitor", "--flow-monitor", "FILE",
                                    "packet fidelity: ns-3's FlowMonitor, XML"),
      Text<&Scenario::netanim>("network.netanim", "--netanim", "FILE",
                               "packet fidelity: for the NetAnim player, XML; large"),
      Text<&Scenario::device_profile>("clock.device_profile", "--device-profile", "NAME|FILE",
                                      "speeds of the simulated devices and codecs: a100-datasheet, "
                                      "h100-datasheet, cpu-reference, or a JSON file"),
      Number<&Scenario::device_speed, 1, 1'000'000>(
          "clock.device_speed", "--device-speed",
          "how many times faster devices compute than the profile says"),
      Number<&Scenario::codec_speed, 1, 1'000'000>(
          "clock.codec_speed", "--codec-speed",
          "how many times faster they encode and decode than the profile says"),
      Text<&Scenario::launches, CheckLaunches>(
          "clock.launches", "--launches", "profile|fused|per-layer",
          "what shares kernel launches: all layers of a bucket and all messages of a collective "
          "call (fused), or nothing (per-layer); profile: as the device profile says"),
      Text<&Scenario::bucket, CheckBytes>("clock.bucket", "--bucket", "25MiB",
                                          "gradient bytes that travel together"),
  };
}

}  // namespace legacy
