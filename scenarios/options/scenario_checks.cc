// Checks of a scenario that do not concern a single option.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/number.h"
#include "scenarios/options/divided_shape.h"
#include "scenarios/options/methods.h"
#include "scenarios/options/model_shape.h"
#include "scenarios/options/scenario.h"
#include "trainer/data/data_catalog.h"
#include "trainer/data/model_catalog.h"

namespace legacy {
namespace {

// Throws Error if options that only a training reads differ from their defaults, because nothing is
// trained.
void CheckShape(const Scenario& s) {
  LoadModelShape(s.layers);
  const Scenario defaults;
  for (const ScenarioOption& option : ScenarioOptions()) {
    if (!option.Has(kTrainingAlone) || option.get(s) == option.get(defaults)) continue;
    throw Error(option.key + " (" + option.flag + ")", option.get(s),
                "nothing: with training.layers (--layers) nothing is trained");
  }
}

// Throws Error if steps that are to be timed like a shape's cannot be.
void CheckTimesOf(const Scenario& s) {
  if (s.times_of.empty()) return;
  LoadModelShape(s.times_of);
  const std::string key = "training.times_of (--times-of)";
  if (!s.layers.empty()) {
    throw Error(key, s.times_of, "nothing: with training.layers (--layers) nothing is trained");
  }
  if (!s.gradient_steps.empty()) {
    throw Error("run.gradient_steps (--gradient-steps)", s.gradient_steps,
                "nothing with training.times_of (--times-of), whose layers are not those of the "
                "gradients");
  }
  for (const std::string& name : s.policies) {
    const std::string reason = NetworkDependence(FindMethod(s, name), s);
    if (reason.empty()) continue;
    throw Error("compression.policies", name,
                "methods that decide without the network, with training.times_of: " + reason +
                    ", and those of the shape are not what the model learns with");
  }
}

// Throws Error if options of local steps are given, but no method reads them.
void CheckLocal(const Scenario& s) {
  bool local = false, outer = false;
  for (const std::string& name : s.policies) {
    const Method method = FindMethod(s, name);
    local |= method.Local();
    outer |= method.outer->has_value();
  }
  const std::string among = " in compression.policies";
  if (s.local_steps > 0 && !local) {
    throw Error("training.local_steps", std::to_string(s.local_steps),
                "0, or a method with local steps" + among + ", such as local-sgd");
  }
  if (*s.outer && !outer) {
    throw Error("training.outer", s.outer.text(),
                "none, or a method with an outer optimizer" + among + ", such as diloco");
  }
}

// Throws Error if the format or the sums of dense gradients are chosen, but no method reads them,
// or where sums that a ring forms are formed by something else.
void CheckDense(const Scenario& s) {
  bool dense = false, rounds = false;
  for (const std::string& name : s.policies) {
    const Method method = FindMethod(s, name);
    dense |= SendsDense(method);
    rounds |= MayRoundSums(method, s);
  }
  if (*s.reduce != Precision::kFp32 && !dense) {
    throw Error("training.reduce", s.reduce.text(),
                "fp32, or a method without compression in compression.policies, such as dense: "
                "the others send what they are made of");
  }
  if (*s.sum != SumRule::kHops) return;
  if (!rounds) {
    throw Error(
        "training.sum", s.sum.text(),
        "exact, or a method that sends all values in 16 bits: bf16, fp16, or dense with "
        "training.reduce=bf16 or fp16. Other messages are not added on the way, or in fp32");
  }
  const auto ring = fabric::CollectiveAlgorithm::RingAllReduce;
  if (*s.aggregation != Transfer::kPeers || *s.allreduce != ring) {
    throw Error("training.sum", s.sum.text(),
                "exact, or network.aggregation=collective with network.allreduce=ring-allreduce: "
                "the partial sums that are rounded are those of a ring");
  }
}

// Checks a shape, or that no option is set that only shapes have.
void CheckDrawn(const Scenario& s) {
  if (s.layers.empty() && *s.precision == Precision::kBf16Fp8) {
    throw Error("training.precision", s.precision.text(),
                "fp32, tf32, bf16 or fp16 for a training, or a shape in training.layers: steps in "
                "FP8 are timed, and what a model learns in it is not known here");
  }
  if (!s.layers.empty()) {
    CheckShape(s);
  } else if (s.times_of.empty() &&
             (s.gradients != Scenario().gradients || s.drawn_steps != Scenario().drawn_steps)) {
    throw Error::Refusal(
        "training.gradients, training.drawn_steps: nothing is drawn without training.layers or "
        "training.times_of");
  }
}

void CheckMethods(const Scenario& s) {
  std::set<std::string> names;
  for (const std::string& name : s.policies) {
    FindMethod(s, name);
    if (!names.insert(name).second) {
      throw Error("compression.policies", name, "each method once");
    }
  }
}

// Checks the algorithms of collectives, with the options that only some of them have.
void CheckCollectives(const Scenario& s) {
  const Scenario defaults;
  if (*s.aggregation != Transfer::kPeers &&
      (s.allreduce != defaults.allreduce || s.allgather != defaults.allgather)) {
    throw Error("network.aggregation", s.aggregation.text(),
                "collective, where network.allreduce or network.allgather is chosen");
  }
  // Returns true if an all-reduce or all-gather may be an algorithm for which `takes` is true.
  const auto some = [&](bool (*takes)(fabric::CollectiveAlgorithm)) {
    const auto one = [&](const auto& algorithm) { return !algorithm || takes(*algorithm); };
    return *s.aggregation == Transfer::kPeers && (one(*s.allreduce) || one(*s.allgather));
  };
  if (*s.protocol != fabric::Protocol::None && !some(fabric::TakesProtocols)) {
    throw Error("network.protocol", s.protocol.text(),
                "none without a ring, double tree or nvls-allreduce in network.allreduce or "
                "network.allgather");
  }
  if (*s.protocol && *s.allreduce && fabric::TakesProtocols(**s.allreduce) &&
      !fabric::TakesProtocol(**s.allreduce, **s.protocol)) {
    throw Error("network.protocol", s.protocol.text(),
                "none, simple or auto beside network.allreduce " + s.allreduce.text());
  }
  if (s.channels > 1 && !some(fabric::TakesChannels)) {
    throw Error("network.channels", std::to_string(s.channels),
                "1 without a ring or double tree in network.allreduce or network.allgather");
  }
  if (*s.allgather && !fabric::TakesWorkers(**s.allgather, s.workers)) {
    throw Error("network.allgather", s.allgather.text(),
                "an algorithm that takes " + std::to_string(s.workers) +
                    " workers, such as bruck-allgather; this one needs a power of two");
  }
}

// Checks the optimizer, and how the learning rate falls.
void CheckLearning(const Scenario& s) {
  if (s.optimizer->kind != OptimizerKind::kSgd && s.momentum != 0) {
    throw Error(
        "training.momentum", FormatNumber(s.momentum),
        "0 with optimizer " + s.optimizer.text() +
            (s.optimizer->kind == OptimizerKind::kSign ? ", which has none" : ", which has beta1"));
  }
  if (s.final_learning_rate > s.learning_rate) {
    throw Error("training.final_learning_rate", FormatNumber(s.final_learning_rate),
                "at most training.learning_rate, " + FormatNumber(s.learning_rate));
  }
  // Steps and epochs are compared later, when the length of an epoch is known.
  for (size_t i = 1; i < s.decay_steps.size(); ++i) {
    const StepCount &before = s.decay_steps[i - 1], &now = s.decay_steps[i];
    if (before.InEpochs() != now.InEpochs()) continue;
    if (now.InEpochs() ? now.epochs() < before.epochs() : now < before) {
      throw Error::Refusal("training.decay_steps: steps must ascend");
    }
  }
}

// Checks how workers divide a model, or that no option is set that only such workers have.
void CheckLayout(const Scenario& s, const ShardingOptions& options) {
  if (s.layers.empty() && options.load.kind != ExpertLoad::Kind::kBalanced) {
    throw Error("clock.experts", s.experts.text(),
                "balanced, unless training.layers (--layers) names a shape");
  }
  if (options.layout.Divides() || options.load.kind != ExpertLoad::Kind::kBalanced) {
    if (s.layers.empty()) {
      throw Error("clock.parallel", s.parallel.text(),
                  "none, unless training.layers (--layers) names a shape: workers that divide a "
                  "model are timed, not trained");
    }
    DividedShape(s);
  }
  if (options.layout.pipeline == 1 && s.pipeline != Scenario().pipeline) {
    throw Error("clock.pipeline", s.pipeline.text(), "1f1b without stages (clock.parallel: pp=N)");
  }
  if (options.order.chunks > 1 && s.accumulate % options.layout.pipeline != 0) {
    throw Error("training.accumulate", std::to_string(s.accumulate),
                "a multiple of the " + std::to_string(options.layout.pipeline) +
                    " stages with clock.pipeline " + s.pipeline.text());
  }
}

// Checks a step of a divided model, or that no option is set that only such steps have.
void CheckShards(const Scenario& s) {
  const ShardingOptions options = ShardingOptionsOf(s);
  CheckLayout(s, options);
  if (options.sharding.kind == ShardingKind::kNone) {
    const Scenario defaults;
    const bool sharded = s.rules != defaults.rules || s.reshard != defaults.reshard ||
                         s.prefetch != defaults.prefetch;
    const bool divided =
        s.units != defaults.units || s.collective_times != defaults.collective_times;
    if (sharded || (divided && !options.layout.Divides())) {
      throw Error("clock.sharding", s.sharding.text(),
                  "zero1, zero2, zero3, fsdp, hsdp:S or megatron, where clock.rules, clock.units, "
                  "clock.reshard, clock.prefetch or clock.collectives is set");
    }
    if (!options.layout.Divides()) return;
  }
  CheckSharding(options, DataWorkers(s));
  const std::string division = options.sharding.kind == ShardingKind::kNone
                                   ? "clock.parallel " + s.parallel.text()
                                   : "clock.sharding " + s.sharding.text();
  if (*s.aggregation != Transfer::kPeers) {
    throw Error("network.aggregation", s.aggregation.text(),
                "collective with " + division + ", as workers own parts of the model themselves");
  }
  if (s.sync.text() != "barrier") {
    throw Error("network.sync", s.sync.text(),
                "barrier with " + division + ", as each worker owns a part of every sum");
  }
  if (options.collectives != CollectiveTimes::kTogether && !s.background.text().empty() &&
      s.background.text() != Scenario().background.text()) {
    throw Error("clock.collectives", s.collective_times.text(),
                "together with network.background, which shares links with collectives");
  }
}

// Checks outputs about the network: ns-3's own files, traces and attributes.
void CheckNetworkOutputs(const Scenario& s) {
  if (*s.fidelity != Fidelity::kPacket && !(s.pcap + s.flow_monitor + s.netanim).empty()) {
    throw Error("network.fidelity", s.fidelity.text(),
                "packet, where network.pcap, network.flow_monitor or network.netanim asks for "
                "ns-3's own files");
  }
  if (!s.network_schedule->empty() &&
      (s.doctor != "off" || !(s.trace_steps + s.pcap + s.flow_monitor + s.netanim).empty())) {
    throw Error("network.phases", s.network_schedule.text(),
                "none, where network.doctor, traces or ns-3's own files are asked for: they show "
                "one network");
  }
  for (const auto& [name, value] : s.ns3) {
    if (!name.starts_with("ns3::") && !name.starts_with("legacy::")) {
      throw Error("ns3", name, "attribute names such as ns3::TcpSocket::SegmentSize");
    }
  }
}

}  // namespace

void ValidateScenario(const Scenario& s) {
  CheckTimesOf(s);
  CheckDrawn(s);
  const CatalogEntry data = FindInCatalog(s.dataset, "training.dataset");
  CheckModel(s.model, data.task, "training.model");
  CheckMethods(s);
  s.sync->CheckWorkers(s.workers);
  CheckCollectives(s);
  CheckLearning(s);
  CheckLocal(s);
  CheckDense(s);
  if (!std::is_sorted(s.legacy.splits.begin(), s.legacy.splits.end())) {
    throw Error::Refusal("compression.splits: sizes must ascend");
  }
  CheckNetworkOutputs(s);
  CheckShards(s);
}

void ValidatePoint(const Scenario& scenario) {
  const Method method = FindMethod(scenario, scenario.policies.front());
  Scenario read = scenario;
  const Scenario defaults;
  for (const std::string& key : UnreadOptions(method, scenario)) {
    const ScenarioOption& option = OptionNamed(ScenarioOptions(), key, OptionNames::kKeys);
    option.set(read, key, option.get(defaults));
  }
  ValidateScenario(read);
}

}  // namespace legacy
