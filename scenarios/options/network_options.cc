// The options of the network and of the clock.
#include "base/parse.h"
#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/step/synchronisation.h"
#include "scenarios/options/network_schedule.h"
#include "scenarios/options/option_forms.h"
#include "trainer/clock/transfers.h"

namespace legacy {
namespace {

using namespace option_forms;

// Returns the algorithms among workers that carry the payload.
std::string Algorithms(fabric::Payload payload) {
  std::vector<std::string> names;
  for (const fabric::CollectiveAlgorithm algorithm : PeerAlgorithms(payload)) {
    names.emplace_back(fabric::ToString(algorithm));
  }
  return Join(names, ", ");
}

}  // namespace

std::vector<ScenarioOption> OptionsOfNetwork() {
  std::vector<ScenarioOption> options = {
      FabricOption<Scenario>("--topo"),
      FabricOption<Scenario>("--bandwidth"),
      FabricOption<Scenario>("--delay"),
      Text<&Scenario::network_schedule>(
          "network.phases", "--phases", "none|c1|c2|0%:KEY=VALUE,...;50%:...",
          "network schedule: bandwidth and delay of the links from the given fraction of the steps "
          "on") |
          kMayFurther,
      Text<&Scenario::further>(
          "network.further", "--networks", "none|auto|NAME:KEY=VALUE,...;...",
          "further networks on which to time the same trainings, given by their differences from "
          "this one; auto: 10Gbps, 100Gbps and a WAN, unless another network option is given") |
          kUsual,
      FabricOption<Scenario>("--queue"),
      FabricOption<Scenario>("--multipath"),
      FabricOption<Scenario>("--placement"),
      Text<&Scenario::stragglers>(
          "network.stragglers", "--stragglers", "MODEL",
          "straggler model: none, fixed:count=2,factor=1.5, fixed:workers=3+7,factor=2, "
          "slow:probability=0.1,factor=2, lognormal:sigma=0.3, exponential:scale=0.2, "
          "pareto:shape=2.5, trace:file=FILE; random models also take lasting=STEPS|run") |
          kUsual | kMayFurther,
      Text<&Scenario::sync>(
          "network.sync", "--sync", "MODEL",
          "workers whose gradients a step waits for: barrier (all), backup:k=2 (all but the "
          "slowest 2), deadline:time=50ms, deadline:factor=1.5 (times the median); backup and "
          "deadline also take min=1"),
      Text<&Scenario::fidelity>(
          "network.fidelity", "--fidelity", "packet|flow|analytic|auto",
          "network simulation; packet: every packet, on ns-3's clock; flow: max-min fair fluid "
          "model; analytic: alpha-beta model; auto: packet where --packet-budget allows it, else "
          "flow, "
          "and packet for a sample of steps") |
          kUsual | kReadByClients | kMayFurther,
      FabricOption<Scenario>("--packet-budget"),
      FabricOption<Scenario>("--transport"),
      FabricOption<Scenario>("--mtu"),
      FabricOption<Scenario>("--connections"),
      FabricOption<Scenario>("--congestion"),
      FabricOption<Scenario>("--streams"),
      FabricOption<Scenario>("--skip"),
      FabricOption<Scenario>("--changes"),
      FabricOption<Scenario>("--background"),
      Text<&Scenario::aggregation>(
          "network.aggregation", "--aggregation", "collective|[sharded-]parameter-server",
          "aggregation of gradients, by collectives among workers or by parameter servers") |
          kMayFurther,
      Text<&Scenario::allreduce>(
          "network.allreduce", "--allreduce", "NAME|auto",
          "all-reduce algorithm for linear messages (dense, fp16, randomk): " +
              Algorithms(fabric::Payload::Sum) + "; auto: the fastest on an idle fabric") |
          kUsual | kMayFurther,
      Text<&Scenario::allgather>("network.allgather", "--allgather", "NAME|auto",
                                 "all-gather algorithm for sparse messages (topk): " +
                                     Algorithms(fabric::Payload::Concat) +
                                     "; auto: the fastest on an idle fabric") |
          kUsual | kMayFurther,
      FabricOption<Scenario>("--group"),
      FabricOption<Scenario>("--channels"),
      FabricOption<Scenario>("--protocol"),
      FabricOption<Scenario>("--servers"),
      Text<&Scenario::pull>("network.pull", "--pull", "union|dense",
                            "data that workers pull from the server after sparse "
                            "pushes: the union of the messages, or the dense mean") |
          kMayFurther,
      Switch<&Scenario::memoise>("network.memoise", "--memoise",
                                 "simulate identical steps only once"),
      Text<&Scenario::doctor>("network.doctor", "--doctor", "[on|off|STEPS]",
                              "diagnose the bottleneck of STEPS, for each method and the first "
                              "seed; --doctor alone: of the median step") |
          kUsual | kLeavesResults,
      Text<&Scenario::doctor_fidelity>("network.doctor_fidelity", "--doctor-fidelity",
                                       "packet|flow|analytic",
                                       "network simulation that the doctor uses") |
          kLeavesResults,
      Text<&Scenario::trace_steps>("network.trace_steps", "--trace-steps", "0,10-12",
                                   "steps to write as Chrome or Perfetto traces") |
          kLeavesResults,
      Text<&Scenario::trace_workers>("network.trace_workers", "--trace-workers", "0-3|all",
                                     "endpoints to show in the traces") |
          kLeavesResults,
      Text<&Scenario::pcap>(
          "network.pcap", "--pcap", "PREFIX",
          "with packet fidelity: prefix of pcap files, one per host and port (large)") |
          kLeavesResults,
      Text<&Scenario::flow_monitor>(
          "network.flow_monitor", "--flow-monitor", "FILE",
          "with packets of ns3:datacenter or ns3:wan: XML file of ns-3's FlowMonitor") |
          kLeavesResults,
      Text<&Scenario::netanim>(
          "network.netanim", "--netanim", "FILE",
          "with packets of ns3:datacenter or ns3:wan: XML file for the NetAnim "
          "player (large)") |
          kLeavesResults,
      Text<&Scenario::device_profile>(
          "clock.device_profile", "--device-profile", "NAME|FILE",
          "device profile, with the speeds of simulated devices and codecs: a100-datasheet, "
          "h100, h200, h100-datasheet, h200-datasheet, cpu-reference, or a JSON file; by the shape "
          "of products: v100-sxm, a100-sxm-40, a100-sxm-80, a100-pcie-40, a100-pcie-80, h100-sxm, "
          "h100-pcie, h200-sxm, b200, mi300x, rtx3090") |
          kUsual | kReadByClients | kOfMethods,
      Number<&Scenario::device_speed>("clock.device_speed", "--device-speed",
                                      "factor on the profile's speed of computing", 0.001, 1'000) |
          kReadByClients,
      Number<&Scenario::codec_speed>("clock.codec_speed", "--codec-speed",
                                     "factor on the profile's speed of encoding and decoding",
                                     0.001, 1'000) |
          kReadByClients,
      Number<&Scenario::contention>(
          "clock.contention", "--contention",
          "part by which a worker's computing takes longer while it takes part in a collective, "
          "whose kernels hold processors; about channels / (processors - channels)",
          0, 100),
      Text<&Scenario::kernels>(
          "clock.kernels", "--kernels", "2020|2022|2023|2024|2025|compiled",
          "kernels of the model; 2020: attention as products, its mask, softmax and dropout each "
          "a pass over memory; 2022: mask and softmax in one pass; 2023: fused attention; "
          "2024: FlashAttention-2; 2025: attention made for Hopper, and FP8 as Transformer Engine "
          "casts it; compiled: as 2024, with chains of element-wise operations in one pass; all "
          "but compiled differ with profiles by the shape of products alone") |
          kReadByClients,
      Text<&Scenario::recompute>(
          "clock.recompute", "--recompute", "none|selective|full|operations|every:K",
          "what runs again in the backward pass to save memory: nothing; attention; repeated "
          "blocks; of them all but attention and every other product; or each K-th block") |
          kReadByClients,
      Text<&Scenario::layout>(
          "clock.layout", "--layout", "channels-last|channels-first",
          "order of an image's numbers; channels-first: matrix units copy what convolutions read "
          "and write (with profiles by the shape of products)") |
          kReadByClients,
      Text<&Scenario::sharding>(
          "clock.sharding", "--sharding", "none|zero1|zero2|zero3|fsdp|hsdp:S|megatron",
          "what is sharded over the workers; zero1, megatron: optimizer states; zero2: and "
          "gradients; zero3, fsdp: and weights, which are gathered before each use; hsdp:S: as "
          "fsdp, among S consecutive workers. Dense sums are trained as without; the messages of "
          "other methods go to the owners of slices, each compressed by itself") |
          kUsual | kMayFurther,
      Text<&Scenario::rules>("clock.rules", "--rules", "auto|fsdp2|fsdp1|zero|megatron",
                             "framework whose order of gathers and reductions a sharded step has; "
                             "auto: fsdp2 for fsdp and hsdp, zero and megatron for their own") |
          kMayFurther,
      Text<&Scenario::units>(
          "clock.units", "--units", "auto|block|model|SIZE",
          "tensors that are gathered and reduced together; block: a repeated block each, and the "
          "rest of the model; SIZE: operations of so many bytes in fp32; auto: block where weights "
          "are sharded and the model has blocks, else the buckets of the rules' framework") |
          kMayFurther,
      Text<&Scenario::reshard>("clock.reshard", "--reshard", "on|off|node",
                               "weights after their forward pass; on: freed, and gathered again; "
                               "off: kept; node: gathered again inside the node, from a copy") |
          kMayFurther,
      Integer<&Scenario::prefetch, 0, 1000>(
          "clock.prefetch", "--prefetch",
          "units whose weights are gathered ahead of the one that is computed with; 0: no gather "
          "overlaps the unit before; with megatron 0: all are gathered after the update") |
          kMayFurther,
      Text<&Scenario::collective_times>(
          "clock.collectives", "--collectives", "auto|together|alone",
          "how the collectives of a sharded step are timed; together: with all their flows, which "
          "share links; alone: each distinct one by itself, once; auto: alone above 262,144 flows "
          "a step") |
          kMayFurther,
      Text<&Scenario::pipeline>(
          "clock.pipeline", "--pipeline", "1f1b|interleaved:V|gpipe|zb-h1",
          "order in which stages of pipeline parallelism compute microbatches "
          "(training.accumulate);"
          " interleaved:V: each stage has V chunks of the model; gpipe: all forward passes first; "
          "zb-h1: gradients of weights are computed where a stage would wait") |
          kMayFurther,
      Text<&Scenario::launches>(
          "clock.launches", "--launches", "profile|fused|per-layer",
          "kernel launches; fused: one set for all layers of a bucket and all messages of a "
          "collective call; per-layer: one set for each layer and message; profile: as the device "
          "profile says") |
          kUsual | kReadByClients | kOfMethods,
  };
  AddToAll(options, kMayReplay);
  // Layers are cut before anything is compressed.
  options.push_back(
      Text<&Scenario::parallel>(
          "clock.parallel", "--parallel",
          "none|tp=N,cp=N,ep=N,pp=N,sequence=on|off,overlap=off|on|all",
          "how workers divide the model of training.layers; tp: tensors of each layer, among "
          "workers that follow each other; cp: positions of each sample; pp: blocks of layers, in "
          "stages; sequence: with tp, what it does not divide is divided by positions; overlap: "
          "with tp, which sums run beside products: none; those of gradients, as in Megatron-LM "
          "since 2022; or all. The rest is data parallelism. ep: experts, among as many ranks of "
          "contexts and data") |
      kUsual);
  options.push_back(Text<&Scenario::experts>(
      "clock.experts", "--experts", "balanced|capacity:F|zipf:A|FILE",
      "which experts of a shape tokens go to; balanced: as many to each; capacity:F: each takes F "
      "times its even share, and buffers are sent full; zipf:A: expert i gets a share as i^-A; a "
      "file has a line of tokens of each expert, for all ranks or one for each rank of "
      "clock.parallel ep"));
  // Merging decides what is compressed, so a replay must not change it.
  options.push_back(Text<&Scenario::bucket>("clock.bucket", "--bucket", "25MiB",
                                            "bucket size, in bytes of dense fp32 gradient") |
                    kReadByClients);
  return options;
}

}  // namespace legacy
