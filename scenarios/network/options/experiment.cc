#include "scenarios/network/options/experiment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/parse.h"
#include "ns3-module/fabric/collective/tuning.h"
#include "ns3-module/fabric/step/straggler.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/network/input/byte_matrix.h"

namespace legacy {
namespace {

using fabric::CollectiveAlgorithm;

// The bytes of a value in a sparse message: an fp32 value and a 32-bit index.
constexpr int64_t kValueBytes = 8;
constexpr int64_t kDenseBytes = 4;  // bytes of an fp32 value

// Returns one value for each worker; the list has one for all workers or one for each.
template <typename Value>
std::vector<Value> ForEach(std::vector<Value> list, int workers, const std::string& option,
                           const std::string& text) {
  if (list.size() == 1) list.resize(workers, list.front());
  if (list.size() != static_cast<size_t>(workers)) {
    throw Error(option, text,
                "one value, or one for each of " + std::to_string(workers) +
                    " workers (there are " + std::to_string(list.size()) + ")");
  }
  return list;
}

// Returns the bytes of the values that remain of a dense message at a density: the number of values
// is rounded down, and is at least one.
int64_t SparseBytes(int64_t dense, double density) {
  constexpr double kRounding = 1e-9;  // 0.01 x 300 is 3, not 2.9999999999999996
  const double elements = static_cast<double>(dense / kDenseBytes);
  const auto kept = static_cast<int64_t>(std::floor(density * elements + kRounding));
  return kValueBytes * std::max<int64_t>(1, kept);
}

void ReadMessages(Experiment& e) {
  const ExperimentOptions& options = e.options;
  e.bytes = ForEach(*options.bytes, e.Workers(), "--bytes", options.bytes.text());
  e.dense_bytes = *std::max_element(e.bytes.begin(), e.bytes.end());
  if (options.density->empty()) return;
  e.density = ForEach(*options.density, e.Workers(), "--density", options.density.text());
  for (int w = 0; w < e.Workers(); ++w) e.bytes[w] = SparseBytes(e.bytes[w], e.density[w]);
}

void ReadNetwork(Experiment& e) {
  const ExperimentOptions& options = e.options;
  NetworkRequest& network = e.network;
  network = RequestOf(options);
  network.topology.ecmpSeed = options.ecmp_seed;
  network.placement.workers = options.workers;
  network.placement.colocated = options.colocated;
  network.seed = options.seed;
  e.packet_budget = static_cast<double>(*options.packet_budget) * 1e-9;
  e.fidelities = *options.fidelity;
  e.automatic = e.Asks(Fidelity::kAuto);
  if (e.automatic) e.fidelities = {Fidelity::kFlow};
}

// Returns the bytes of the union of `workers` random supports of density d, which has n (1 - (1 -
// d)^workers) values, but at most those of the dense form.
int64_t UnionBytes(const Experiment& e, double workers) {
  double mean = 0;
  for (const double density : e.density) mean += density / e.Workers();
  const double elements = static_cast<double>(e.dense_bytes / kDenseBytes);
  const double values = std::ceil(elements * (1 - std::pow(1 - mean, workers)));
  return std::min(e.dense_bytes, kValueBytes * static_cast<int64_t>(values));
}

std::vector<int64_t> SumBytes(const Experiment& e, CollectiveAlgorithm algorithm) {
  if (!e.options.sum_bytes->empty()) return *e.options.sum_bytes;
  const int64_t largest = *std::max_element(e.bytes.begin(), e.bytes.end());
  const auto sum = [&](int64_t workers) {
    return e.density.empty()
               ? largest
               : UnionBytes(e, static_cast<double>(std::min<int64_t>(workers, e.Workers())));
  };
  if (algorithm == CollectiveAlgorithm::ScatterReduceAllGather) return {sum(e.Workers())};
  std::vector<int64_t> sums;
  if (algorithm == CollectiveAlgorithm::SparseTree) {
    for (int64_t merged = 2; merged < 2 * static_cast<int64_t>(e.Workers()); merged *= 2) {
      sums.push_back(sum(merged));
    }
  }
  return sums;
}

// Throws Error if a list of flows is given together with options of a collective, which it does not
// read. A file of flows names hosts, so placements have no meaning either.
void RefuseUnread(const ExperimentOptions& options) {
  const bool file = !options.flows.empty();
  if (!file && options.pattern.empty()) return;
  const ExperimentOptions defaults;
  for (const Option<ExperimentOptions>& row : ExperimentRows()) {
    const std::string name = row.Name();
    const bool read =
        name == "workers" || name == "seed" || (name == "bytes" && !file && !*options.duration);
    const bool collective = row.group == kCollectiveGroup && !read;
    if (!collective && !(file && name == "placement")) continue;
    const std::string text = row.get(options);
    if (text == row.get(defaults)) continue;
    throw Error(row.flag, text,
                std::string("nothing beside ") + (file ? "--flows" : "--pattern") +
                    ", which does not read it");
  }
}

// Reads the matrix of all-to-allv, which other algorithms refuse.
void ReadMatrix(Experiment& e) {
  const ExperimentOptions& options = e.options;
  const std::string& matrix = options.matrix;
  if (matrix.empty()) return;
  if (e.algorithm != CollectiveAlgorithm::AllToAllV) {
    throw Error("--matrix", matrix,
                "nothing beside --collective=" + options.collective.text() +
                    ", which does not read it; all-to-allv does");
  }
  const ExperimentOptions defaults;
  for (const char* unread : {"bytes", "density"}) {
    const Option<ExperimentOptions>& row =
        OptionNamed(ExperimentRows(), unread, OptionNames::kFlags, "--matrix");
    if (row.get(options) == row.get(defaults)) continue;
    throw Error(row.flag, row.get(options), "nothing beside --matrix, which has all bytes");
  }
  e.pair_bytes = ReadByteMatrix(matrix, e.Workers());
  for (int w = 0; w < e.Workers(); ++w) {
    const auto row = e.pair_bytes.begin() + static_cast<ptrdiff_t>(w) * e.Workers();
    e.bytes[w] = std::accumulate(row, row + e.Workers(), int64_t{0});
  }
  e.dense_bytes = *std::max_element(e.bytes.begin(), e.bytes.end());
}

// Checks the order of all-to-all(v) and its relays, which other algorithms refuse.
void CheckExchange(const Experiment& e) {
  const ExperimentOptions& options = e.options;
  if (e.algorithm == CollectiveAlgorithm::AllToAllV ||
      e.algorithm == CollectiveAlgorithm::AllToAll) {
    return;
  }
  const std::string beside =
      " beside --collective=" + options.collective.text() + "; all-to-all and all-to-allv read it";
  if (options.pxn) throw Error("--pxn", "on", "off" + beside);
  if (*options.order != fabric::PeerOrder::Rotated) {
    throw Error("--order", options.order.text(), "nothing" + beside);
  }
}

// Checks the options of block-sparse sums, which other algorithms refuse.
void CheckBlocks(const Experiment& e) {
  if (e.algorithm == CollectiveAlgorithm::BlockSparse) {
    if (*e.options.block_bytes >= 1 && *e.options.block_bytes <= INT32_MAX) return;
    throw Error("--block-bytes", e.options.block_bytes.text(), "1 byte to 2 GB");
  }
  const ExperimentOptions defaults;
  for (const char* unread : {"aggregators", "slots", "block-bytes"}) {
    const Option<ExperimentOptions>& row =
        OptionNamed(ExperimentRows(), unread, OptionNames::kFlags, "--collective");
    if (row.get(e.options) == row.get(defaults)) continue;
    throw Error(
        row.flag, row.get(e.options),
        "nothing beside --collective=" + e.options.collective.text() + "; block-sparse reads it");
  }
}

// Reads the length of a run of endless flows. Analytic fidelity is left out unless the user asked
// for it.
void ReadDuration(Experiment& e) {
  const ExperimentOptions& options = e.options;
  const std::string& duration = options.duration.text();
  const std::string& window = options.window_time.text();
  if (!*options.duration) {
    if (!window.empty()) throw Error("--window-time", window, "nothing without --duration");
    return;
  }
  if (!e.HasFlows()) {
    throw Error("--duration", duration, "nothing without --flows or --pattern: collectives end");
  }
  if (options.pattern.starts_with("poisson")) {
    throw Error("--duration", duration, "nothing beside --pattern=poisson, whose flows have sizes");
  }
  constexpr TimeNs kDefaultWindows = 20;
  constexpr TimeNs kMostWindows = 100'000;
  e.duration = **options.duration;
  if (e.duration < kDefaultWindows) throw Error("--duration", duration, "20ns or more");
  e.window_time = options.window_time->value_or(e.duration / kDefaultWindows);
  const TimeNs least = (e.duration + kMostWindows - 1) / kMostWindows;
  if (e.window_time < least || e.window_time > e.duration) {
    throw Error("--window-time", window,
                FormatTime(least) + " to the run's " + FormatTime(e.duration));
  }
  if (!e.Asks(Fidelity::kAnalytic)) return;
  if (!(options.fidelity == ExperimentOptions().fidelity)) {
    throw Error("--fidelity", options.fidelity.text(),
                "packet, flow: at analytic fidelity flows do not share links, so that endless ones "
                "have no rate");
  }
  std::erase(e.fidelities, Fidelity::kAnalytic);
}

// Checks channels and protocol of rings and double trees, which other algorithms refuse.
void CheckChannels(const Experiment& e) {
  const ExperimentOptions& options = e.options;
  const std::optional<fabric::Protocol>& protocol = *options.protocol;
  if (!e.algorithm) return;
  const std::string beside = " beside --collective=" + options.collective.text();
  if (options.channels > 1 && !fabric::TakesChannels(*e.algorithm)) {
    throw Error("--channels", std::to_string(options.channels),
                "1" + beside + "; rings and double trees have several");
  }
  if (protocol != fabric::Protocol::None &&
      !(protocol ? fabric::TakesProtocol(*e.algorithm, *protocol)
                 : fabric::TakesProtocols(*e.algorithm))) {
    throw Error("--protocol", options.protocol.text(),
                (fabric::TakesProtocols(*e.algorithm) ? "none, simple or auto" : "none") + beside +
                    "; rings and double trees have others");
  }
}

int64_t PullBytes(const Experiment& e) {
  if (*e.options.pull_bytes) return **e.options.pull_bytes;
  int64_t all = 0;
  for (const int64_t bytes : e.bytes) all += bytes;
  return e.density.empty() ? e.dense_bytes : std::min(all, e.dense_bytes);
}

// Returns the size of part `index` of `parts` that differ by at most one byte.
int64_t Part(int64_t total, int parts, int index) {
  return total / parts + (index < total % parts ? 1 : 0);
}

}  // namespace

Experiment ParseExperiment(const ExperimentOptions& options,
                           const std::map<std::string, std::string>& ns3_attributes) {
  if (!options.jobs.empty()) {
    throw Error("--jobs", options.jobs,
                "nothing in a sweep or from Python; legacy-network --jobs runs them");
  }
  const ExperimentOptions defaults;
  for (const Option<ExperimentOptions>& row : ExperimentRows()) {
    if (row.group != kJobsGroup || row.get(options) == row.get(defaults)) continue;
    throw Error(row.flag, row.get(options), "nothing without --jobs");
  }
  RefuseUnread(options);
  if (!options.flows.empty() && !options.pattern.empty()) {
    throw Error("--pattern", options.pattern, "either this or --flows");
  }
  Experiment e;
  e.options = options;
  ReadNetwork(e);
  e.network.transport.attributes = ns3_attributes;
  ReadMessages(e);
  e.algorithm = *options.collective;
  ReadMatrix(e);
  CheckExchange(e);
  CheckBlocks(e);
  ParseInteger(std::to_string(options.root), "--root", 0, e.Workers() - 1);
  CheckChannels(e);
  fabric::MakeStragglers(options.stragglers)->Factors(e.Workers(), e.network.seed, 0);
  if (options.workers != ExperimentOptions().workers) e.least_hosts = e.Workers();
  ReadDuration(e);
  return e;
}

NetworkRequest NetworkFor(const Experiment& experiment, CollectiveAlgorithm algorithm) {
  NetworkRequest request = experiment.network;
  if (algorithm == CollectiveAlgorithm::ParameterServer) request.placement.servers = 1;
  if (algorithm == CollectiveAlgorithm::ShardedParameterServer) {
    request.placement.servers = experiment.options.servers;
  }
  if (algorithm == CollectiveAlgorithm::BlockSparse) {
    request.placement.servers = experiment.options.aggregators;
  }
  request.placement.aggregation = fabric::AggregationOf(algorithm);
  request.placement.node = experiment.options.group;
  return request;
}

fabric::CollectiveSpec SpecOf(const Experiment& e, CollectiveAlgorithm algorithm,
                              const Network& network, int bucket) {
  const auto part = [&](int64_t total) { return Part(total, e.options.buckets, bucket); };
  const auto parts = [&](std::vector<int64_t> totals) {
    std::transform(totals.begin(), totals.end(), totals.begin(), part);
    return totals;
  };
  fabric::CollectiveSpec spec;
  spec.algorithm = algorithm;
  spec.root = e.options.root;
  spec.bytes = parts(e.bytes);
  spec.pullBytes = part(PullBytes(e));
  const bool blocks = algorithm == CollectiveAlgorithm::BlockSparse;
  spec.servers = std::max<int>(blocks ? 0 : 1, static_cast<int>(network.placement.servers.size()));
  if (blocks) {
    spec.slots = e.options.slots;
    spec.blockBytes = *e.options.block_bytes;
  }
  spec.group = network.placement.node;
  spec.sumBytes = parts(SumBytes(e, algorithm));
  if (algorithm == CollectiveAlgorithm::AllToAllV) {
    spec.pairBytes = parts(e.pair_bytes.empty() ? EvenByteMatrix(e.bytes) : e.pair_bytes);
  }
  spec.order = *e.options.order;
  spec.relays = e.options.pxn;
  spec.parents = network.placement.parents;
  spec.firstAggregator =
      static_cast<int>(network.placement.hosts.size() + network.placement.servers.size());
  spec.pieceBytes = *e.options.piece_bytes;
  spec.window = e.options.window;
  const std::optional<fabric::Protocol>& protocol = *e.options.protocol;
  fabric::ChannelOptions channels{ChannelsOf(e.options.channels, network, protocol), protocol, {}};
  if (protocol != fabric::Protocol::None) {
    channels.links = fabric::NodeLinksOf(network.topology, network.placement, spec.group);
  }
  SetChannels(spec, channels);
  return spec;
}

fabric::StepTraffic TrafficOf(const Experiment& e, CollectiveAlgorithm algorithm,
                              const Network& network, uint64_t step) {
  const std::vector<double> factors =
      fabric::MakeStragglers(e.options.stragglers)->Factors(e.Workers(), e.network.seed, step);
  fabric::StepTraffic traffic;
  traffic.workers = e.Workers();
  for (int b = 0; b < e.options.buckets; ++b) {
    fabric::BucketTraffic bucket;
    for (const double factor : factors) {
      const double share = static_cast<double>(b + 1) / e.options.buckets;
      bucket.ready.push_back(RoundedTime(static_cast<double>(*e.options.compute) * factor * share));
    }
    bucket.calls.push_back({SpecOf(e, algorithm, network, b), {}});
    traffic.deviceFree = bucket.ready;  // the last bucket's counts
    traffic.buckets.push_back(std::move(bucket));
  }
  return traffic;
}

std::vector<CollectiveAlgorithm> AutomaticAlgorithms(const Experiment& experiment) {
  const bool equal = std::all_of(experiment.bytes.begin(), experiment.bytes.end(),
                                 [&](int64_t bytes) { return bytes == experiment.bytes.front(); });
  const bool sum = equal && experiment.density.empty();
  const std::vector<CollectiveAlgorithm> all =
      fabric::AlgorithmsFor(sum ? fabric::Payload::Sum : fabric::Payload::Concat);
  std::vector<CollectiveAlgorithm> among_workers;
  for (const CollectiveAlgorithm algorithm : all) {
    const bool helped = fabric::AggregationOf(algorithm) != fabric::Aggregation::None ||
                        algorithm == CollectiveAlgorithm::ParameterServer ||
                        algorithm == CollectiveAlgorithm::ShardedParameterServer;
    if (!helped && fabric::TakesWorkers(algorithm, experiment.Workers()))
      among_workers.push_back(algorithm);
  }
  return among_workers;
}

}  // namespace legacy
