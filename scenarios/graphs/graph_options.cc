#include "scenarios/graphs/graph_options.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/option_forms.h"
#include "base/parse.h"
#include "trainer/clock/profile.h"

namespace legacy::graphs {
namespace {

using namespace option_forms;
using fabric::CollectiveAlgorithm;

// True for algorithms that run among the ranks alone.
bool NeedsNoHelp(CollectiveAlgorithm algorithm) {
  return !fabric::IsServer(algorithm) &&
         fabric::AggregationOf(algorithm) == fabric::Aggregation::None;
}

std::vector<std::string> NamesFor(fabric::Payload payload) {
  std::vector<std::string> names;
  for (const CollectiveAlgorithm algorithm : fabric::AlgorithmsFor(payload)) {
    if (NeedsNoHelp(algorithm)) names.emplace_back(fabric::ToString(algorithm));
  }
  return names;
}

CollectiveAlgorithm ParseFor(fabric::Payload payload, const std::string& text,
                             const std::string& key) {
  return fabric::ParseCollective(ParseChoice(text, key, NamesFor(payload)));
}

OptionTable<GraphOptions> OptionsOfTraces() {
  OptionTable<GraphOptions> rows = {
      Text<&GraphOptions::groups>(
          "groups", "--groups", "FILE",
          "JSON file of groups of ranks, {\"1\": [0, 1, ...], ...} (default: "
          "comm_group.json in the trace's folder, if there is one)"),
      Text<&GraphOptions::comm_size>(
          "comm-size", "--comm-size", "input|output",
          "what comm_size of an all-gather counts; input: the bytes that each rank gives, as in "
          "ASTRA-sim; output: those that each rank has in the end"),
      Text<&GraphOptions::compute>(
          "compute", "--compute", "recorded|roofline",
          "duration of compute; recorded: that of the trace; roofline: that of its arithmetic and "
          "tensors on --device-profile, where the trace says them"),
      Text<&GraphOptions::device_profile>(
          "device-profile", "--device-profile", "NAME|FILE",
          "device of --compute=roofline: a profile of a data sheet"),
      Text<&GraphOptions::precision>("precision", "--precision", "fp32|tf32|bf16|fp16|bf16-fp8",
                                     "precision of its matrix products"),
      Text<&GraphOptions::in_flight>(
          "in-flight", "--in-flight", "groups|one",
          "collectives and sends of a rank at once; groups: one for each group, and all sends; "
          "one: one in all, as in ASTRA-sim"),
      Flag<&GraphOptions::strict>(
          "strict", "--strict",
          "follow dependencies of control, too, and refuse those on nodes that "
          "are not in the file, and collectives without a type; without it, "
          "the former are counted, and the latter take their recorded time"),
      Text<&GraphOptions::allreduce>(
          "allreduce", "--allreduce", "NAME",
          "algorithm of all-reduces: " + Join(NamesFor(fabric::Payload::Sum), ", ")),
      Text<&GraphOptions::allgather>(
          "allgather", "--allgather", "NAME",
          "algorithm of all-gathers: " + Join(NamesFor(fabric::Payload::Concat), ", ")),
      Text<&GraphOptions::reduce_scatter>(
          "reduce-scatter", "--reduce-scatter", "NAME",
          "algorithm of reduce-scatters: " + Join(NamesFor(fabric::Payload::ScatteredSum), ", ")),
  };
  return FewOptions(std::move(rows), "Trace");
}

OptionTable<GraphOptions> OptionsOfNetwork() {
  OptionTable<GraphOptions> rows;
  for (const char* flag :
       {"--topo", "--bandwidth", "--delay", "--queue", "--multipath", "--placement", "--transport",
        "--mtu", "--connections", "--congestion", "--streams", "--skip", "--changes",
        "--background", "--group", "--channels", "--protocol"}) {
    rows.push_back(FabricOption<GraphOptions>(flag));
  }
  rows.push_back(
      Text<&GraphOptions::fidelity>("fidelity", "--fidelity", "A,B,...",
                                    "network simulations to run: " + NamesOf(Fidelities())) |
      kUsual);
  rows.push_back(Integer<&GraphOptions::seed, 0>("seed", "--seed", "random seed of the engines"));
  return rows;
}

}  // namespace

bool ParseGatheredSizes(const std::string& text, const std::string& key) {
  return ParseChoice(text, key, {"input", "output"}) == "output";
}

bool ParseRoofline(const std::string& text, const std::string& key) {
  return ParseChoice(text, key, {"recorded", "roofline"}) == "roofline";
}

bool ParseOneStream(const std::string& text, const std::string& key) {
  return ParseChoice(text, key, {"groups", "one"}) == "one";
}

CollectiveAlgorithm ParseSum(const std::string& text, const std::string& key) {
  return ParseFor(fabric::Payload::Sum, text, key);
}

CollectiveAlgorithm ParseGather(const std::string& text, const std::string& key) {
  return ParseFor(fabric::Payload::Concat, text, key);
}

CollectiveAlgorithm ParseScatteredSum(const std::string& text, const std::string& key) {
  return ParseFor(fabric::Payload::ScatteredSum, text, key);
}

std::vector<Fidelity> ParseEngineFidelities(const std::string& text, const std::string& key) {
  std::vector<Fidelity> fidelities = ParseFidelityList(text, key);
  if (std::ranges::find(fidelities, Fidelity::kAuto) == fidelities.end()) return fidelities;
  throw Error(key, text, NamesOf(Fidelities()));
}

const OptionTable<GraphOptions>& GraphRows() {
  static const auto rows = JoinedTables<GraphOptions>(
      {{"Trace", OptionsOfTraces()},
       {"Network", OptionsOfNetwork()},
       {"Output",
        {Text<&GraphOptions::csv>("csv", "--csv", "FILE",
                                  "CSV file with the times and parts of each rank") |
         kUsual}}});
  return rows;
}

ImportOptions ImportOptionsOf(const GraphOptions& options) {
  ImportOptions import;
  import.gathered_sizes = *options.comm_size;
  import.one_stream = *options.in_flight;
  import.strict = options.strict;
  import.all_reduce = *options.allreduce;
  import.all_gather = *options.allgather;
  import.reduce_scatter = *options.reduce_scatter;
  if (!*options.compute) return import;
  const Profile profile = LoadProfile(options.device_profile);
  if (!profile.device) {
    throw Error("--device-profile", options.device_profile,
                "a profile with the section \"device\", such as a100-sxm-80");
  }
  const Device& device = *profile.device;
  profile.CheckPrecision(*options.precision);
  const auto rate = device.product_flops_per_second.find(*options.precision);
  if (rate == device.product_flops_per_second.end()) {
    throw Error("--precision", options.precision.text(), "one that " + profile.name + " has");
  }
  import.roofline = {rate->second * device.product_efficiency * device.sustained,
                     device.bytes_per_second * device.memory_efficiency};
  return import;
}

}  // namespace legacy::graphs
