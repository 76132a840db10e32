// Options of a trace that is timed on a network: the fabric's, and what the trace leaves open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/parsed.h"
#include "scenarios/graphs/plan_maker.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/network/options/experiment_options.h"
#include "scenarios/network/options/fabric_options.h"
#include "trainer/clock/precision.h"

namespace legacy::graphs {

// Return what the text of an option stands for. Throw Error naming `key` and what is allowed.
bool ParseGatheredSizes(const std::string& text, const std::string& key);
bool ParseRoofline(const std::string& text, const std::string& key);
bool ParseOneStream(const std::string& text, const std::string& key);
fabric::CollectiveAlgorithm ParseSum(const std::string& text, const std::string& key);
fabric::CollectiveAlgorithm ParseGather(const std::string& text, const std::string& key);
fabric::CollectiveAlgorithm ParseScatteredSum(const std::string& text, const std::string& key);
// Returns fidelities that have an engine.
std::vector<Fidelity> ParseEngineFidelities(const std::string& text, const std::string& key);

// GraphOptions have the values.
struct GraphOptions : FabricOptions {
  std::string groups;  // file; "": none
  Parsed<ParseGatheredSizes> comm_size = "input";
  Parsed<ParseRoofline> compute = "recorded";
  std::string device_profile = "a100-sxm-80";  // of a roofline
  Parsed<ParsePrecision> precision = "bf16";   // of a roofline
  Parsed<ParseOneStream> in_flight = "groups";
  bool strict = false;
  Parsed<ParseSum> allreduce = "ring-allreduce";
  Parsed<ParseGather> allgather = "ring-allgather";
  Parsed<ParseScatteredSum> reduce_scatter = "ring-reduce-scatter";
  Parsed<ParseEngineFidelities> fidelity = "flow";
  uint64_t seed = 1;
  std::string csv;  // file; "": none
};

// Returns the table.
const OptionTable<GraphOptions>& GraphRows();

// Returns what the options say of an import. Throws Error where the profile has no data sheet to
// price nodes by.
ImportOptions ImportOptionsOf(const GraphOptions& options);

}  // namespace legacy::graphs
