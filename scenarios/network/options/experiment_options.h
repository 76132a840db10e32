// Options of an experiment without training: a collective, or flows, on one network. The command
// line of legacy-network, its sweeps, lists of jobs, Python and help use one table of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/parse.h"
#include "base/parsed.h"
#include "base/units.h"
#include "ns3-module/fabric/collective/collective.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/network/options/fabric_options.h"

namespace legacy {

// Return what the text of an option stands for. Throw Error naming `key` and what is allowed.
//
// Returns the fidelities of "packet,flow", each once, or kAuto alone.
std::vector<Fidelity> ParseFidelityList(const std::string& text, const std::string& key);
// Returns nothing for "auto": the fastest.
std::optional<fabric::CollectiveAlgorithm> ParseCollectiveOption(const std::string& text,
                                                                 const std::string& key);
fabric::PeerOrder ParsePeerOrder(const std::string& text, const std::string& key);
// Returns parts of a step's time: those of "0,0.25", or of "0..1:x8" the eight from 0 on, below 1,
// that are equally far apart.
std::vector<double> ParseOffsets(const std::string& text, const std::string& key);

// ExperimentOptions have the values.
struct ExperimentOptions : FabricOptions {
  uint64_t ecmp_seed = 1;
  Parsed<ParseFidelityList> fidelity = {NamesOf(Fidelities(), ","), "--fidelity"};
  int64_t flow_limit = 200'000'000;  // most flows of one simulation

  // a collective
  Parsed<ParseCollectiveOption> collective = "ring-allreduce";
  int workers = 16;
  Parsed<ListOf<ParseBytes>> bytes = "256KB";  // one message size for all workers, or one for each
  Parsed<ListOf<ParseFraction>> density = "";  // of a dense message; empty: none
  std::string matrix;                          // file of bytes of an all-to-allv; "": none
  Parsed<ParsePeerOrder> order = "rotated";
  bool pxn = false;  // messages to other nodes travel over workers of the sender's node
  int buckets = 1;
  bool colocated = false;                     // servers are on the workers' hosts
  GivenSize pull_bytes = "";                  // nothing: the largest message, or the union
  Parsed<ListOf<ParseBytes>> sum_bytes = "";  // empty: the same
  Size piece_bytes = "0";                     // 0: about 16 pieces
  int window = 64;
  int aggregators = 0;  // of block-sparse sums; 0: the workers
  int64_t slots = 256;  // blocks that one sums at once
  Size block_bytes = "1028B";
  int root = 0;
  Time compute = "0ns";
  std::string stragglers = "none";
  int64_t repeat = 1;
  uint64_t seed = 1;

  // flows instead
  std::string flows;  // file
  std::string pattern;
  GivenTime duration = "";     // of flows without an end; nothing: they have one
  GivenTime window_time = "";  // nothing: a twentieth of the duration

  // several jobs
  std::string jobs;                   // file
  int64_t steps = 20;                 // of trainings that say none
  Parsed<ParseOffsets> offsets = "";  // of the jobs' starts; empty: none
  bool pairs = false;                 // run without each of the jobs, too
};

// Returns the table.
const OptionTable<ExperimentOptions>& ExperimentRows();

// Group of the options that describe the network.
inline constexpr const char* kNetworkGroup = "Network";
// Group of the options that describe a collective.
inline constexpr const char* kCollectiveGroup = "Collective";
// Group of those that describe jobs beside each other.
inline constexpr const char* kJobsGroup = "Several jobs";

// Most steps of a job.
inline constexpr int64_t kMostJobSteps = 1'000'000;

// Sets the option of that name from text. Messages call it "--name".
void SetOption(ExperimentOptions& options, const std::string& name, const std::string& text);

}  // namespace legacy
