// The table of options: the only place that knows keys, flags, texts and checks of single values.
#include <limits>

#include "compress/error.h"
#include "compress/exchange.h"
#include "compress/gradients/gradients.h"
#include "compress/policies/legacy_table.h"
#include "ns3-module/fabric/collective.h"
#include "ns3-module/fabric/error.h"
#include "ns3-module/fabric/synchronisation.h"
#include "ns3-module/fabric/units.h"
#include "scenarios/network/parse.h"
#include "scenarios/phases.h"
#include "scenarios/scenario.h"
#include "trainer/transfers.h"

namespace legacy {
namespace {

constexpr int64_t kMany = std::numeric_limits<int64_t>::max();

using Texts = std::vector<std::string>;

template <auto Field, int64_t Minimum, int64_t Maximum = kMany>
ScenarioOption Integer(std::string key, std::string flag, std::string help) {
  return {std::move(key),
          std::move(flag),
          "N",
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            using Type = std::remove_reference_t<decltype(s.*Field)>;
            constexpr int64_t kTop = std::min<int64_t>(
                Maximum, sizeof(Type) < 8 ? std::numeric_limits<int32_t>::max() : kMany);
            s.*Field = static_cast<Type>(ParseInteger(text, k, Minimum, kTop));
          },
          [](const Scenario& s) { return std::to_string(s.*Field); },
          OptionKind::kInteger};
}

// Template arguments cannot be double before GCC's full C++20 support everywhere: bounds in thousandths.
template <auto Field, int64_t MinimumMilli, int64_t MaximumMilli>
ScenarioOption Number(std::string key, std::string flag, std::string help) {
  return {std::move(key),
          std::move(flag),
          "X",
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            s.*Field = ParseNumber(text, k, MinimumMilli / 1000.0, MaximumMilli / 1000.0);
          },
          [](const Scenario& s) { return FormatNumber(s.*Field); },
          OptionKind::kNumber};
}

template <auto Field>
ScenarioOption Fraction(std::string key, std::string flag, std::string help) {
  return {std::move(key),
          std::move(flag),
          "1%|0.01",
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            s.*Field = ParseFraction(text, k);
          },
          [](const Scenario& s) { return FormatPercent(s.*Field); },
          OptionKind::kFraction};
}

template <auto Field>
ScenarioOption Switch(std::string key, std::string flag, std::string help) {
  return {std::move(key),
          std::move(flag),
          kSwitch,
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            s.*Field = ParseSwitch(text, k);
          },
          [](const Scenario& s) { return std::string(s.*Field ? "on" : "off"); }};
}

using Check = void (*)(const std::string& text, const std::string& key);
void CheckRate(const std::string& text, const std::string& key);
void CheckTime(const std::string& text, const std::string& key);
void CheckBytes(const std::string& text, const std::string& key);

constexpr OptionKind KindOf(Check checked) {
  if (checked == CheckRate) return OptionKind::kRate;
  if (checked == CheckTime) return OptionKind::kTime;
  return checked == CheckBytes ? OptionKind::kBytes : OptionKind::kText;
}

template <auto Field, Check Checked = nullptr>
ScenarioOption Text(std::string key, std::string flag, std::string metavar, std::string help) {
  return {std::move(key),
          std::move(flag),
          std::move(metavar),
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            if constexpr (Checked != nullptr) Checked(text, k);
            s.*Field = text;
          },
          [](const Scenario& s) { return s.*Field; },
          KindOf(Checked)};
}

template <auto Field>
ScenarioOption Integers(std::string key, std::string flag, std::string help) {
  return {std::move(key),
          std::move(flag),
          "N,N,...",
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            (s.*Field).clear();
            for (const std::string& item : SplitList(text)) {
              (s.*Field).push_back(ParseInteger(item, k, 1, kMany));
            }
          },
          [](const Scenario& s) {
            Texts items;
            for (const int64_t value : s.*Field) items.push_back(std::to_string(value));
            return Join(items, ",");
          }};
}

// fabric's parsers throw fabric's exception; users see one kind.
template <typename Parse>
void Checked(Parse parse) {
  try {
    parse();
  } catch (const fabric::Error& error) {
    throw Error(error.what());
  }
}
void CheckRate(const std::string& text, const std::string& key) {
  Checked([&] { fabric::ParseRate(text, key); });
}
void CheckTime(const std::string& text, const std::string& key) {
  Checked([&] { fabric::ParseTime(text, key); });
}
void CheckBytes(const std::string& text, const std::string& key) {
  Checked([&] { fabric::ParseBytes(text, key); });
}
void CheckPhases(const std::string& text, const std::string& key) {
  ParsePhases(text, "", "", key);
}
void CheckSchedule(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"constant", "linear", "cosine", "step"});
}
void CheckDevice(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"cpu", "cuda", "auto"});
}
void CheckGradients(const std::string& text, const std::string& key) {
  try {
    FindRow("gradient", ParseStages(text).front().name, GradientTable());
  } catch (const Error& error) {
    throw Error(key + ": " + error.what());
  }
}
void CheckVolume(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"elements", "bytes", "off"});
}
void CheckLevels(const std::string& text, const std::string&) {
  if (!text.empty()) ParseLevels(text, LevelUnit::kFraction);
}
void CheckPhaseBounds(const std::string& text, const std::string&) {
  ParsePhaseBounds(text, kMany / 2);
}
void CheckIndex(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"auto", "u16", "u32", "bitmap", "packed", "delta"});
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
  ParseKind(text, key, Primitive::kAllReduce);
}
void CheckAllGather(const std::string& text, const std::string& key) {
  ParseKind(text, key, Primitive::kAllGather);
}
void CheckPull(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"union", "dense"});
}
void CheckLaunches(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"profile", "fused", "per-layer"});
}

ScenarioOption Policies() {
  return {"compression.policies",
          "--policies",
          "A,B,...",
          "policies to compare, on the same batches: " + Join(BuiltInMethods(), ", "),
          [](Scenario& s, const std::string& k, const std::string& text) {
            s.policies = SplitList(text);
            if (s.policies.empty()) throw Error(k, text, Join(BuiltInMethods(), ", "));
          },
          [](const Scenario& s) { return Join(s.policies, ","); }};
}

std::vector<ScenarioOption> TrainingOptions() {
  return {
      Text<&Scenario::dataset>("training.dataset", "--dataset", "NAME",
                               "glyphs (embedded, needs no file), fashion-mnist, mnist, cifar10, "
                               "cifar100"),
      Text<&Scenario::data_root>("training.data_root", "--data-root", "DIR",
                                 "folder of the data sets; default: $LEGACY_DATA, then "
                                 "~/.cache/legacy-data"),
      Integer<&Scenario::train_limit, 0>("training.train_limit", "--train-limit",
                                         "use the first N training samples only; 0: all"),
      Integer<&Scenario::test_limit, 0>("training.test_limit", "--test-limit",
                                        "use the first N test samples only; 0: all"),
      Text<&Scenario::model>("training.model", "--model", "NAME",
                             "small-cnn, medium-cnn, lenet5, resnet9, resnet20, patch-resnet20"),
      Integer<&Scenario::workers, 1, 65536>("training.workers", "--workers",
                                            "simulated data-parallel workers"),
      Integer<&Scenario::batch, 1, 1 << 20>("training.batch", "--batch",
                                            "samples per worker and step"),
      Integer<&Scenario::steps, 1>("training.steps", "--steps", "training steps"),
      Number<&Scenario::learning_rate, 0, 1'000'000>("training.learning_rate", "--learning-rate",
                                                     "peak learning rate of SGD"),
      Number<&Scenario::momentum, 0, 999>("training.momentum", "--momentum",
                                          "momentum, applied after aggregation"),
      Switch<&Scenario::nesterov>("training.nesterov", "--nesterov", "Nesterov momentum"),
      Number<&Scenario::weight_decay, 0, 1000>("training.weight_decay", "--weight-decay",
                                               "weight decay, applied after aggregation"),
      Integer<&Scenario::warmup_steps, 0>("training.warmup_steps", "--warmup-steps",
                                          "steps of linear warm-up of the rate"),
      Text<&Scenario::schedule, CheckSchedule>("training.schedule", "--schedule", "NAME",
                                               "rate after warm-up: constant, linear (to 0), "
                                               "cosine, step"),
      Integers<&Scenario::decay_steps>("training.decay_steps", "--decay-steps",
                                       "steps at which schedule step multiplies the rate"),
      Number<&Scenario::decay_factor, 0, 1000>("training.decay_factor", "--decay-factor",
                                               "factor of schedule step"),
      Integer<&Scenario::evaluate_every, 1>("training.evaluate_every", "--evaluate-every",
                                            "steps between evaluations"),
      Fraction<&Scenario::target>("training.target", "--target",
                                  "accuracy whose simulated time is reported"),
      Text<&Scenario::device, CheckDevice>("training.device", "--device", "cpu|cuda|auto",
                                           "what trains and compresses: cpu, of the same results "
                                           "everywhere; cuda: the first GPU; auto: that where "
                                           "there is one to be used"),
      Text<&Scenario::layers>("training.layers", "--layers", "NAME|FILE",
                              "trains nothing: bytes and times of a model's shape, by name (list "
                              "names them) or from a file; fidelity is then flow by default"),
      Text<&Scenario::gradients, CheckGradients>(
          "training.gradients", "--gradients", "NAME[:k=v,...]",
          "of a shape: distribution of the gradients that are drawn where lengths depend on the "
          "data (legacy-codec list)"),
      Integer<&Scenario::drawn_steps, 1>("training.drawn_steps", "--drawn-steps",
                                         "of a shape: steps that are drawn after each change of a "
                                         "layer's parameter; later ones repeat the last lengths"),
  };
}

std::vector<ScenarioOption> CompressionOptions() {
  return {
      Policies(),
      Fraction<&Scenario::density>("compression.density", "--density",
                                   "average density of the sparse policies, over layers and steps"),
      Text<&Scenario::levels, CheckLevels>(
          "compression.levels", "--levels", "10%,0.5%/1%,0.05%",
          "LEGACY's densities: sizes by ',' (small first), phases by '/'; "
          "default: solved from the density"),
      Integers<&Scenario::splits>("compression.splits", "--splits",
                                  "LEGACY's sizes in elements; default: the size below which "
                                  "split-share of the elements lie"),
      Fraction<&Scenario::split_share>("compression.split_share", "--split-share",
                                       "share of the elements below LEGACY's default split"),
      Text<&Scenario::phase_bounds, CheckPhaseBounds>(
          "compression.phase_bounds", "--phase-bounds", "100,200|30%,60%",
          "steps, or parts of the training, at which LEGACY's phases end; default: equal phases"),
      Switch<&Scenario::closed_right>("compression.closed_right", "--closed-right",
                                      "the step on a bound belongs to the phase that ends there"),
      Text<&Scenario::volume, CheckVolume>(
          "compression.volume", "--volume", "elements|bytes|off",
          "LEGACY's levels are scaled to the average volume of "
          "the density, counted so; off: taken as they are; bytes: "
          "anchors of adaptive policies too, by pilot trainings"),
      Switch<&Scenario::error_feedback>("compression.error_feedback", "--error-feedback",
                                        "keep what was not sent and add it to the next gradient"),
      Switch<&Scenario::rescale_residuals>("compression.rescale_residuals", "--rescale-residuals",
                                           "rescale residuals when the learning rate changes"),
      Text<&Scenario::index, CheckIndex>("compression.index", "--index", "CODING",
                                         "coding of positions: auto (shortest of fixed length), "
                                         "u16, u32, bitmap, packed, delta"),
  };
}

std::vector<ScenarioOption> NetworkOptions() {
  return {
      Text<&Scenario::topology>("network.topology", "--topo", "NAME[:k=v,...]|FILE",
                                "fat-tree:k=4, leaf-spine, dumbbell, star, or a YAML file"),
      Text<&Scenario::bandwidth, CheckRate>("network.bandwidth", "--bandwidth", "1Gbps",
                                            "rate of each link"),
      Text<&Scenario::delay, CheckTime>("network.delay", "--delay", "10us",
                                        "propagation delay of each link"),
      Text<&Scenario::phases, CheckPhases>("network.phases", "--phases",
                                           "none|c1|c2|0%:KEY=VALUE,...;50%:...",
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

std::vector<ScenarioOption> RunOptions() {
  return {
      Integer<&Scenario::seed, 0>("run.seed", "--seed", "first seed"),
      Integer<&Scenario::seeds, 1, 10000>("run.seeds", "--seeds",
                                          "number of seeds, paired across policies"),
      Integer<&Scenario::threads, 0, 1024>("run.threads", "--threads",
                                           "workers trained at once; 0: one per core"),
      Switch<&Scenario::record>("run.record", "--record",
                                "write traffic.jsonl, for replay over other networks"),
      Text<&Scenario::gradient_steps>("run.gradient_steps", "--gradient-steps", "0,10-12",
                                      "write worker 0's gradients of these steps to gradients/, "
                                      "for legacy-codec"),
      Text<&Scenario::gradient_layers>("run.gradient_layers", "--gradient-layers", "A,B,...",
                                       "layers in them: all, or parts of names"),
      Text<&Scenario::out>("run.out", "--out", "DIR", "run directory; default: runs/<time>"),
      Switch<&Scenario::overwrite>("run.overwrite", "--overwrite",
                                   "replace an existing run directory"),
      Switch<&Scenario::pictures>("run.pictures", "--pictures", "draw SVG and PNG at the end"),
  };
}

}  // namespace

const std::vector<ScenarioOption>& ScenarioOptions() {
  static const std::vector<ScenarioOption> options = [] {
    std::vector<ScenarioOption> all;
    for (auto part : {TrainingOptions(), CompressionOptions(), NetworkOptions(), RunOptions()}) {
      for (ScenarioOption& option : part) all.push_back(std::move(option));
    }
    return all;
  }();
  return options;
}

void SetOption(Scenario& scenario, const std::string& key, const std::string& text) {
  Texts keys;
  for (const ScenarioOption& option : ScenarioOptions()) {
    if (option.key == key) return option.set(scenario, key, text);
    keys.push_back(option.key);
  }
  const std::string near = Nearest(key, keys);
  throw Error("unknown key '" + key + "'" + (near.empty() ? "" : "; did you mean " + near + "?") +
              "; allowed: " + Join(keys, ", "));
}

}  // namespace legacy
