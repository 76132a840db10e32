#include "scenarios/network/options/experiment_options.h"

#include <algorithm>

#include "base/error.h"
#include "base/option_forms.h"
#include "base/parse.h"

namespace legacy {

template <>
inline constexpr OptionKind kKindOf<Parsed<ListOf<ParseBytes>>> = OptionKind::kBytes;

namespace {

using namespace option_forms;

std::string Collectives() {
  std::vector<std::string> names;
  for (const fabric::CollectiveAlgorithm algorithm : fabric::CollectiveAlgorithms()) {
    names.push_back(fabric::ToString(algorithm));
  }
  return Join(names, ", ");
}

OptionTable<ExperimentOptions> OptionsOfNetwork() {
  return {
      FabricOption<ExperimentOptions>("--topo"),
      FabricOption<ExperimentOptions>("--bandwidth"),
      FabricOption<ExperimentOptions>("--delay"),
      FabricOption<ExperimentOptions>("--queue"),
      FabricOption<ExperimentOptions>("--multipath"),
      Integer<&ExperimentOptions::ecmp_seed, 0>("ecmp-seed", "--ecmp-seed",
                                                "seed of the hash by which ECMP chooses paths"),
      FabricOption<ExperimentOptions>("--placement"),
      FabricOption<ExperimentOptions>("--transport"),
      FabricOption<ExperimentOptions>("--mtu"),
      FabricOption<ExperimentOptions>("--connections"),
      FabricOption<ExperimentOptions>("--congestion"),
      FabricOption<ExperimentOptions>("--streams"),
      FabricOption<ExperimentOptions>("--skip"),
      FabricOption<ExperimentOptions>("--changes"),
      FabricOption<ExperimentOptions>("--background"),
      Text<&ExperimentOptions::fidelity>(
          "fidelity", "--fidelity", "A,B,...",
          "network simulations to run: " + NamesOf(Fidelities()) +
              "; several are compared with packet, or else with the first; auto: flow, and packet "
              "where --packet-budget allows it") |
          kUsual,
      Integer<&ExperimentOptions::flow_limit, 1>(
          "flow-limit", "--flow-limit",
          "number of flows above which a simulation is refused (the engines handle 1 to 15 million "
          "flows per second)"),
      FabricOption<ExperimentOptions>("--packet-budget"),
  };
}

OptionTable<ExperimentOptions> OptionsOfCollective() {
  return {
      Text<&ExperimentOptions::collective>(
          "collective", "--collective", "KIND",
          "collective and algorithm: " + Collectives() +
              ", or auto: the fastest all-reduce on this network (all-gather where sizes differ)") |
          kUsual,
      Integer<&ExperimentOptions::workers, 1, 65536>(
          "workers", "--workers",
          "number of workers of a collective or hosts of a pattern; with --flows, least number of "
          "hosts") |
          kUsual,
      Text<&ExperimentOptions::bytes>(
          "bytes", "--bytes", "BYTES[,...]",
          "message size: one for all workers, or a list with one for each") |
          kUsual,
      Text<&ExperimentOptions::density>(
          "density", "--density", "D[,...]",
          "fraction of a dense fp32 gradient of --bytes that is sent, at 8 bytes per value: one "
          "for all workers, or a list with one for each") |
          kUsual,
      Text<&ExperimentOptions::matrix>(
          "matrix", "--matrix", "FILE",
          "CSV file of all-to-allv: a line for each sender, with the bytes to each receiver "
          "(default: those of an all-to-all of --bytes)") |
          kUnrecorded,
      Text<&ExperimentOptions::order>("order", "--order", "rotated|index",
                                      "order in which a worker of all-to-all or all-to-allv sends; "
                                      "rotated: its right neighbour first; index: worker 0 first") |
          kUnrecorded,
      Switch<&ExperimentOptions::pxn>(
          "pxn", "--pxn",
          "send messages of all-to-all or all-to-allv to other nodes over the worker of the "
          "sender's node on the destination's rail, which joins those to one destination, as "
          "NCCL's PXN; nodes have --group workers") |
          kUnrecorded,
      Integer<&ExperimentOptions::buckets, 1, 4096>(
          "buckets", "--buckets",
          "number of pieces of the message that are in flight at once; piece i is ready after "
          "(i+1)/N of --compute"),
      FabricOption<ExperimentOptions>("--group"),
      FabricOption<ExperimentOptions>("--channels") | kUsual,
      FabricOption<ExperimentOptions>("--protocol"),
      FabricOption<ExperimentOptions>("--servers"),
      Switch<&ExperimentOptions::colocated>("colocated", "--colocated",
                                            "place servers on the workers' hosts"),
      Text<&ExperimentOptions::pull_bytes>(
          "pull-bytes", "--pull-bytes", "BYTES",
          "bytes that each worker pulls from the servers or aggregators (default: the largest "
          "message; with --density the union of the messages)"),
      Text<&ExperimentOptions::sum_bytes>(
          "sum-bytes", "--sum-bytes", "BYTES[,...]",
          "bytes of summed messages; sparse-tree: of 2, 4, 8, ... messages; "
          "scatter-reduce-allgather: of all (default: the largest message; with --density the "
          "expected union)"),
      Text<&ExperimentOptions::piece_bytes>(
          "piece-bytes", "--piece-bytes", "BYTES",
          "piece size of pipelined algorithms, in bytes; 0: about 16 pieces"),
      Integer<&ExperimentOptions::window, 1, 65536>(
          "window", "--window",
          "number of flows that a sender has in flight at once, for direct algorithms, sharded "
          "servers, in-network and block-sparse"),
      Integer<&ExperimentOptions::aggregators, 0, 65535>(
          "aggregators", "--aggregators",
          "number of aggregators of block-sparse; 0: each worker is one") |
          kUnrecorded,
      Integer<&ExperimentOptions::slots, 1, 1 << 20>(
          "slots", "--slots", "number of blocks that an aggregator of block-sparse sums at once") |
          kUnrecorded,
      Text<&ExperimentOptions::block_bytes>("block-bytes", "--block-bytes", "BYTES",
                                            "bytes of a block of block-sparse, with its offset") |
          kUnrecorded,
      Integer<&ExperimentOptions::root, 0, 65535>("root", "--root",
                                                  "index of the worker that broadcasts"),
      Text<&ExperimentOptions::compute>("compute", "--compute", "TIME",
                                        "time that a device computes before the message is ready") |
          kUsual,
      Text<&ExperimentOptions::stragglers>(
          "stragglers", "--stragglers", "MODEL",
          "straggler model, with factors on --compute: fixed:count=2,factor=1.5, "
          "lognormal:sigma=0.3, ... (docs/network.md)") |
          kUsual,
      Integer<&ExperimentOptions::repeat, 1, kMostJobSteps>(
          "repeat", "--repeat",
          "number of measured repetitions, each with the stragglers of its step") |
          kUsual,
      Integer<&ExperimentOptions::seed, 0>("seed", "--seed",
                                           "random seed of stragglers, patterns and engines") |
          kUsual,
  };
}

OptionTable<ExperimentOptions> OptionsOfJobs() {
  return {
      Text<&ExperimentOptions::jobs>(
          "jobs", "--jobs", "FILE",
          "YAML file of jobs that share the network: collectives, trainings of shapes and recorded "
          "runs, each with its own workers, start and steps; options of collectives and networks "
          "are what a job leaves out (docs/legacy-network.md)") |
          kUnrecorded | kUsual,
      Integer<&ExperimentOptions::steps, 1, kMostJobSteps>(
          "steps", "--steps",
          "number of measured steps of the trainings of --jobs that say none; these continue until "
          "all jobs have done theirs") |
          kUnrecorded,
      Text<&ExperimentOptions::offsets>(
          "offsets", "--offsets", "FROM..TO:xN|A,B,...",
          "starts of the jobs, as parts of the first job's step: each job starts so much later "
          "than the one before it in the file; 0..1:x8: by 0, 1/8, ... 7/8") |
          kUnrecorded,
      Switch<&ExperimentOptions::pairs>(
          "pairs", "--pairs",
          "run the jobs of --jobs also without each of them, to find which slows which") |
          kUnrecorded,
  };
}

OptionTable<ExperimentOptions> OptionsOfFlows() {
  return {
      Text<&ExperimentOptions::flows>("flows", "--flows", "FILE",
                                      "CSV file of flows: source, destination, bytes, start in "
                                      "seconds; hosts by name or number") |
          kUsual,
      Text<&ExperimentOptions::pattern>(
          "pattern", "--pattern", "PATTERN",
          "traffic pattern: permutation, incast:N (N workers to worker 0) or all-to-all, with "
          "flows of --bytes; or poisson:load=0.5,cdf=websearch|datamining|FILE,flows=1000") |
          kUsual,
      Text<&ExperimentOptions::duration>(
          "duration", "--duration", "TIME",
          "length of a run in which the flows have no end: throughput and fairness over time; "
          "lines of --flows are then source, destination, start in seconds") |
          kUnrecorded,
      Text<&ExperimentOptions::window_time>(
          "window-time", "--window-time", "TIME",
          "length of the windows of time for --duration (default: a twentieth of it)") |
          kUnrecorded,
  };
}

}  // namespace

std::vector<Fidelity> ParseFidelityList(const std::string& text, const std::string& key) {
  if (text == NameOf(Fidelity::kAuto)) return {Fidelity::kAuto};
  std::vector<Fidelity> fidelities;
  for (const std::string& name : SplitList(text)) {
    const Fidelity fidelity = ParseFidelity(name, key);
    FactoryOf(fidelity, key);
    if (std::ranges::find(fidelities, fidelity) != fidelities.end()) {
      throw Error(key, name, "each once");
    }
    fidelities.push_back(fidelity);
  }
  if (fidelities.empty()) throw Error(key, "", NamesOf(Fidelities()));
  return fidelities;
}

std::optional<fabric::CollectiveAlgorithm> ParseCollectiveOption(const std::string& text,
                                                                 const std::string&) {
  if (text == "auto") return std::nullopt;
  return fabric::ParseCollective(text);
}

std::vector<double> ParseOffsets(const std::string& text, const std::string& key) {
  constexpr double kMost = 1000;
  constexpr int64_t kMostOffsets = 1000;
  const size_t dots = text.find("..");
  std::vector<double> offsets;
  if (dots == std::string::npos) {
    for (const std::string& item : SplitList(text)) {
      offsets.push_back(ParseNumber(item, key, 0, kMost));
    }
    return offsets;
  }
  const size_t number = text.find(":x", dots);
  if (number == std::string::npos) throw Error(key, text, "FROM..TO:xN, as 0..1:x8, or a list");
  const double from = ParseNumber(text.substr(0, dots), key, 0, kMost);
  const double to = ParseNumber(text.substr(dots + 2, number - dots - 2), key, from, kMost);
  const int64_t count = ParseInteger(text.substr(number + 2), key, 1, kMostOffsets);
  for (int64_t i = 0; i < count; ++i) {
    offsets.push_back(from + (to - from) * static_cast<double>(i) / static_cast<double>(count));
  }
  return offsets;
}

fabric::PeerOrder ParsePeerOrder(const std::string& text, const std::string& key) {
  return ParseChoice<fabric::PeerOrder>(text, key, std::array{"rotated", "index"});
}

const OptionTable<ExperimentOptions>& ExperimentRows() {
  static const auto options = JoinedTables<ExperimentOptions>({
      {kNetworkGroup, OptionsOfNetwork()},
      {kCollectiveGroup, OptionsOfCollective()},
      {"Any flows instead of a collective", OptionsOfFlows()},
      {kJobsGroup, OptionsOfJobs()},
  });
  return options;
}

void SetOption(ExperimentOptions& options, const std::string& name, const std::string& text) {
  OptionNamed(ExperimentRows(), name, OptionNames::kFlags).set(options, "--" + name, text);
}

}  // namespace legacy
