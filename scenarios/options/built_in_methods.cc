#include "scenarios/options/built_in_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/programs/program.h"
#include "compress/options.h"
#include "compress/policy.h"
#include "compress/registry/registry.h"
#include "compress/schemes/owners/owned_nodes.h"
#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/topology/placement.h"
#include "scenarios/network/options/fabric_options.h"

namespace legacy {
namespace {

class Table {
 public:
  Method& Add(const char* name, const char* scheme, const char* policy = "uniform",
              const char* scope = "layer") {
    Method method;
    method.name = name;
    method.scheme = scheme;
    method.scope = scope;
    method.policy = policy;
    return methods_.emplace_back(method);
  }
  std::vector<Method> Take() { return std::move(methods_); }

 private:
  std::vector<Method> methods_;
};

// Adds methods that use one parameter for every layer.
void AddStatic(Table& table) {
  for (const char* scheme : {"dense", "fp16", "bf16", "topk"}) table.Add(scheme, scheme);
  table.Add("topk-bucket", "topk", "uniform", "bucket");
  table.Add("topk-global", "topk", "uniform", "model");
  for (const char* scheme :
       {"randomk", "ar-topk", "flexible-topk", "dgc",    "redsync",  "sidco",
        "adacomp", "cat",     "qsgd",          "maxmin", "terngrad", "terngrad-shared",
        "natural", "onebit",  "powersgd",      "arc",    "fft",      "variance",
        "mx",      "fp8",     "dynamiq"}) {
    table.Add(scheme, scheme);
  }
  table.Add("omnireduce", "omnireduce").parameter = 1;  // whole blocks
  table.Add("mx-ring", "mx:reduction=ring");
  table.Add("mx-butterfly", "mx:reduction=butterfly");
  table.Add("redsync-quantised", "redsync:quantised=on");
  table.Add("ef-sign", "sign");
  table.Add("ef21", "topk:memory=ef21");
  // The paper's learning rates are about 1e-4, a thousandth of those of the other methods.
  table.Add("signsgd", "signsgd:scale=0.001");
  for (const char* quantiser : {"fp32", "uniform", "fp16", "bf16"}) {
    const std::string name = std::string("fft-") + quantiser;
    table.Add(name.c_str(), (std::string("fft+") + quantiser).c_str());
  }
  // topk-rbf is FFT's control: it has the same quantiser and sends as many bytes.
  table.Add("topk-rbf", "topk+rbf").bytes_of = "fft@0.85";
  table.Add("local-sgd", "dense").local_steps = 4;
  // These are the constants of OpenDiLoCo, whose workers make 500 steps between exchanges.
  Method& diloco = table.Add("diloco", "dense");
  diloco.local_steps = 50;
  diloco.outer = "nesterov:rate=0.7,momentum=0.9";
  // Sarfi et al., 2025: values have 2 bits, and residuals are forgotten over time.
  Method& sparse = table.Add("sparseloco", "topk:decay=0.95+maxmin:bits=2");
  sparse.local_steps = 50;
  sparse.outer = "sgd";
}

// Adds methods for workers that own parts of the model (docs/sharding.md).
void AddSharded(Table& table) {
  // TorchTitan's float8 all-gather: weights in FP8, gradients as they are.
  table.Add("fp8-weights", "dense").weights = "fp8";
  // Wang et al., ZeRO++, 2023: weights in 8 bits, gradients in 4, in a node and across nodes.
  Method& zeropp = table.Add("zeropp", "int:bucket=2048,node=auto,decay=0");
  zeropp.parameter = 4;
  zeropp.weights = "int:bits=8,bucket=2048";
  // Jia et al., SDP4Bit, NeurIPS 2024.
  Method& sdp4bit = table.Add(
      "sdp4bit", "int:bucket=128,rounding=stochastic,smooth=on,node=auto,inner=8,decay=0");
  sdp4bit.parameter = 4;
  sdp4bit.weights = "delta:int:bits=4,bucket=2048";
  // Xie et al., LoCo, 2024.
  table.Add("loco", "int:bucket=2048,memory=loco,node=auto").parameter = 4;
}

// Adds LEGACY for each kind of parameter. The names without a scheme are those over Top-K.
void AddLegacy(Table& table) {
  for (const char* scheme : {"topk", "qsgd", "powersgd"}) {
    const std::string tail = std::string(scheme) == "topk" ? "" : std::string("-") + scheme;
    for (const char* policy : {"legacy-layer", "legacy-phase", "legacy-both", "legacy-auto"}) {
      table.Add((policy + tail).c_str(), scheme, policy);
    }
  }
  table.Add("legacy-layer-reversed", "topk", "legacy-layer").reversed = true;
  table.Add("legacy-phase-reversed", "topk", "legacy-phase").reversed = true;
  table.Add("legacy-both-reversed", "topk", "legacy-both").reversed = true;
}

// Adds adaptive policies. Their windows are parts of the run, so that every policy acts even in a
// short run; papers state steps or epochs.
void AddAdaptive(Table& table) {
  table.Add("lgreco", "topk", "lgreco:period=10%");
  table.Add("lgreco-qsgd", "qsgd", "lgreco:period=10%");
  table.Add("lgreco-powersgd", "powersgd", "lgreco:period=10%");
  table.Add("accordion", "topk", "accordion:interval=10%");
  table.Add("accordion-powersgd", "powersgd", "accordion:interval=10%");
  table.Add("lgreco-accordion", "powersgd", "lgreco-accordion:period=10%");
  table.Add("edgc", "powersgd", "edgc:window=10%");
  table.Add("gravac", "topk", "gravac:window=5%");
  table.Add("gravac-dgc", "dgc", "gravac:window=5%");
  table.Add("kimad", "topk", "kimad");
  table.Add("flexible", "flexible-topk", "flexible");
  table.Add("fft-theta", "fft", "theta");
}

// Returns the methods of plugins' codecs, and one for each policy that no row of the table has.
std::vector<Method> MethodsOfPlugins() {
  static const std::set<std::string> used = [] {
    std::set<std::string> names;
    for (const Method& method : BuiltInMethodTable()) {
      names.insert(ParseStages(method.policy).front().name);
    }
    return names;
  }();
  std::vector<Method> methods;
  for (const std::string& codec : AddedCodecs())
    methods.push_back({.name = codec, .scheme = codec});
  for (const PolicyRow& row : PolicyTable()) {
    if (used.contains(row.info.name)) continue;
    methods.push_back({.name = row.info.name, .policy = row.info.name});
  }
  return methods;
}

}  // namespace

const std::vector<Method>& BuiltInMethodTable() {
  static const std::vector<Method> methods = [] {
    Table table;
    AddStatic(table);
    AddSharded(table);
    AddLegacy(table);
    AddAdaptive(table);
    return table.Take();
  }();
  return methods;
}

std::vector<Method> AllMethods() {
  std::vector<Method> methods = BuiltInMethodTable();
  std::ranges::move(MethodsOfPlugins(), std::back_inserter(methods));
  return methods;
}

std::optional<Method> BuiltInMethod(const std::string& name) {
  const auto& table = BuiltInMethodTable();
  if (const auto row = std::ranges::find(table, name, &Method::name); row != table.end()) {
    return *row;
  }
  const std::vector<Method> others = MethodsOfPlugins();
  const auto other = std::ranges::find(others, name, &Method::name);
  return other == others.end() ? std::nullopt : std::optional(*other);
}

bool AsksForNodes(const Method& method) {
  const Stage first = ParseStages(method.scheme).front();
  const auto node = first.options.find("node");
  return node != first.options.end() && node->second == kAutoNode;
}

bool NeedsSharding(const Method& method) { return !method.weights.empty() || AsksForNodes(method); }

Method InNodes(Method method, const Scenario& scenario) {
  if (!AsksForNodes(method)) return method;
  const ShardingOptions sharding = ShardingOptionsOf(scenario);
  if (sharding.sharding.kind == ShardingKind::kNone) return method;
  int node = scenario.group;
  if (node == 0) {
    fabric::TopologyRequest request = RequestOf(scenario).topology;
    request.hostsNeeded = scenario.workers;
    const fabric::ImportedTopology imported = fabric::ImportTopology(request);
    const fabric::PlacementRequest placement = {
        .text = scenario.placement, .workers = scenario.workers, .server = imported.server};
    node = fabric::MakePlacement(placement, imported.topology).node;
  }
  std::vector<Stage> stages = ParseStages(method.scheme);
  stages.front().options["node"] = std::to_string(std::max(1, node / sharding.layout.tensor));
  method.scheme = FormatStages(stages);
  return method;
}

std::string MethodList() {
  std::string list = fmt::format("{:<24} {:<24} {:<8} {}\n", "name", "scheme", "scope", "policy");
  for (const Method& method : AllMethods()) {
    list += fmt::format("{:<24} {:<24} {:<8} {}\n", method.name, method.scheme, method.scope.text(),
                        method.policy);
  }
  return list +
         "Any scheme with its parameter is a method too, as in topk+fp16@5%, or with the bits that "
         "it sends for each value, as in topk@1bit: " +
         CommandOf("legacy-codec") + " list.\n";
}

}  // namespace legacy
