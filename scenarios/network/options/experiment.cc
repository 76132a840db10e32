#include "scenarios/network/experiment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/parse.h"
#include "ns3-module/fabric/collective/tuning.h"
#include "ns3-module/fabric/step/straggler.h"
#include "scenarios/network/engines.h"
#include "scenarios/network/input/byte_matrix.h"

namespace legacy {
namespace {

using fabric::CollectiveAlgorithm;

// Bytes of a sparse message's value: fp32 value and 32-bit index.
constexpr int64_t kValueBytes = 8;
constexpr int64_t kDenseBytes = 4;  // bytes of an fp32 value

// A Reader reads the values of options, and names their flags in messages.
class Reader {
 public:
  explicit Reader(const OptionValues& values) : values_(values) {}

  const std::string& Text(const std::string& name) const { return values_.at(name); }
  int64_t Integer(const std::string& name, int64_t minimum, int64_t maximum) const {
    return ParseInteger(Text(name), Flag(name), minimum, maximum);
  }
  int Int(const std::string& name, int minimum, int maximum) const {
    return static_cast<int>(Integer(name, minimum, maximum));
  }
  int64_t Bytes(const std::string& name) const { return ParseBytes(Text(name), Flag(name)); }
  std::vector<int64_t> ByteList(const std::string& name) const {
    std::vector<int64_t> list;
    for (const std::string& item : SplitList(Text(name))) {
      list.push_back(ParseBytes(item, Flag(name)));
    }
    return list;
  }
  static std::string Flag(const std::string& name) { return "--" + name; }

 private:
  const OptionValues& values_;
};

// Returns one value for each worker, where the list has one for all or one for each.
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

// Returns the bytes of the values that a density leaves of a dense message: at least one value,
// rounded down.
int64_t SparseBytes(int64_t dense, double density) {
  constexpr double kRounding = 1e-9;  // 0.01 x 300 is 3, not 2.9999999999999996
  const double elements = static_cast<double>(dense / kDenseBytes);
  const auto kept = static_cast<int64_t>(std::floor(density * elements + kRounding));
  return kValueBytes * std::max<int64_t>(1, kept);
}

void ReadMessages(const Reader& reader, Experiment& e) {
  e.bytes = ForEach(reader.ByteList("bytes"), e.Workers(), "--bytes", reader.Text("bytes"));
  e.dense_bytes = *std::max_element(e.bytes.begin(), e.bytes.end());
  const std::string& density = reader.Text("density");
  if (density.empty()) return;
  for (const std::string& item : SplitList(density)) {
    e.density.push_back(ParseFraction(item, "--density"));
  }
  e.density = ForEach(e.density, e.Workers(), "--density", density);
  for (int w = 0; w < e.Workers(); ++w) e.bytes[w] = SparseBytes(e.bytes[w], e.density[w]);
}

void ReadNetwork(const Reader& reader, Experiment& e) {
  NetworkRequest& network = e.network;
  network.topology.text = reader.Text("topo");
  network.topology.rateBps = ParseRate(reader.Text("bandwidth"), "--bandwidth");
  network.topology.delay = ParseTime(reader.Text("delay"), "--delay");
  network.topology.queueBytes = reader.Bytes("queue");
  network.topology.ecmpSeed =
      static_cast<uint64_t>(reader.Integer("ecmp-seed", 0, std::numeric_limits<int64_t>::max()));
  network.topology.multipath = ParseMultipath(reader.Text("multipath"), "--multipath");
  network.placement.text = reader.Text("placement");
  network.placement.workers = reader.Int("workers", 1, 65536);
  network.placement.colocated = ParseSwitch(reader.Text("colocated"), "--colocated");
  network.transport = fabric::MakeTransport(reader.Text("transport"), "--transport");
  network.transport.SetMtu(reader.Integer("mtu", fabric::kLeastMtu, fabric::kMostMtu));
  network.transport.connections =
      fabric::ParseConnectionKind(reader.Text("connections"), "--connections");
  if (const std::string congestion = reader.Text("congestion"); !congestion.empty()) {
    network.transport.congestionControl =
        fabric::ParseCongestionControl(congestion, "--congestion");
  }
  network.transport.streams = reader.Int("streams", 1, kMostStreams);
  network.topology.changes = reader.Text("changes");
  network.background = ParseBackground(reader.Text("background"), "--background");
  network.seed =
      static_cast<uint64_t>(reader.Integer("seed", 0, std::numeric_limits<int64_t>::max()));
  e.packet_budget =
      static_cast<double>(ParseTime(reader.Text("packet-budget"), "--packet-budget")) * 1e-9;
  e.flow_limit = reader.Integer("flow-limit", 1, std::numeric_limits<int64_t>::max());
  e.automatic = reader.Text("fidelity") == NameOf(Fidelity::kAuto);
  for (const std::string& text : SplitList(e.automatic ? "flow" : reader.Text("fidelity"))) {
    const Fidelity fidelity = ParseFidelity(text, "--fidelity");
    FactoryOf(fidelity, "--fidelity");
    if (e.Asks(fidelity)) throw Error("--fidelity", text, "each once");
    e.fidelities.push_back(fidelity);
  }
  if (e.fidelities.empty()) throw Error("--fidelity", "", NamesOf(Fidelities()));
}

// Returns the bytes of the union of `workers` random supports of density d, n (1 - (1 - d)^workers)
// values, at most the dense form.
int64_t UnionBytes(const Experiment& e, double workers) {
  double mean = 0;
  for (const double density : e.density) mean += density / e.Workers();
  const double elements = static_cast<double>(e.dense_bytes / kDenseBytes);
  const double values = std::ceil(elements * (1 - std::pow(1 - mean, workers)));
  return std::min(e.dense_bytes, kValueBytes * static_cast<int64_t>(values));
}

std::vector<int64_t> SumBytes(const Experiment& e, CollectiveAlgorithm algorithm) {
  if (!e.sum_bytes.empty()) return e.sum_bytes;
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

// Throws Error where a list of flows is given with options of a collective, which it does not read.
// A file of flows names hosts, so that placements have no meaning either.
void RefuseUnread(const OptionValues& values) {
  const bool file = !values.at("flows").empty();
  if (!file && values.at("pattern").empty()) return;
  for (const NetworkOption& option : NetworkOptions()) {
    const bool read = option.name == "workers" || option.name == "seed" ||
                      (option.name == "bytes" && !file && values.at("duration").empty());
    const bool collective = option.group == kCollectiveGroup && !read;
    if (!collective && !(file && option.name == "placement")) continue;
    const std::string& text = values.at(option.name);
    if (text == option.fallback) continue;
    throw Error("--" + option.name, text,
                std::string("nothing beside ") + (file ? "--flows" : "--pattern") +
                    ", which does not read it");
  }
}

// Reads the matrix and the order of all-to-all(v), which other algorithms refuse.
void ReadExchange(const OptionValues& values, Experiment& e) {
  const bool all_to_allv = e.algorithm == CollectiveAlgorithm::AllToAllV;
  const std::string& matrix = values.at("matrix");
  if (!matrix.empty()) {
    if (!all_to_allv) {
      throw Error("--matrix", matrix,
                  "nothing beside --collective=" + values.at("collective") +
                      ", which does not read it; all-to-allv does");
    }
    for (const char* unread : {"bytes", "density"}) {
      if (values.at(unread) == DefaultValues().at(unread)) continue;
      throw Error(std::string("--") + unread, values.at(unread),
                  "nothing beside --matrix, which has all bytes");
    }
    e.pair_bytes = ReadByteMatrix(matrix, e.Workers());
    for (int w = 0; w < e.Workers(); ++w) {
      const auto row = e.pair_bytes.begin() + static_cast<ptrdiff_t>(w) * e.Workers();
      e.bytes[w] = std::accumulate(row, row + e.Workers(), int64_t{0});
    }
    e.dense_bytes = *std::max_element(e.bytes.begin(), e.bytes.end());
  }
  constexpr std::array kOrders = {"rotated", "index"};
  e.order = ParseChoice<fabric::PeerOrder>(values.at("order"), "--order", kOrders);
  e.relays = ParseSwitch(values.at("pxn"), "--pxn");
  if (e.relays && !all_to_allv && e.algorithm != CollectiveAlgorithm::AllToAll) {
    throw Error("--pxn", values.at("pxn"),
                "off beside --collective=" + values.at("collective") +
                    "; all-to-all and all-to-allv read it");
  }
  if (e.order != fabric::PeerOrder::Rotated && !all_to_allv &&
      e.algorithm != CollectiveAlgorithm::AllToAll) {
    throw Error("--order", values.at("order"),
                "nothing beside --collective=" + values.at("collective") +
                    "; all-to-all and all-to-allv read it");
  }
}

// Reads the length of a run of endless flows. Analytic fidelity is left out where the user did not
// ask for it.
void ReadDuration(const OptionValues& values, Experiment& e) {
  const std::string& duration = values.at("duration");
  const std::string& window = values.at("window-time");
  if (duration.empty()) {
    if (!window.empty()) throw Error("--window-time", window, "nothing without --duration");
    return;
  }
  if (!e.HasFlows()) {
    throw Error("--duration", duration, "nothing without --flows or --pattern: collectives end");
  }
  if (e.pattern.starts_with("poisson")) {
    throw Error("--duration", duration, "nothing beside --pattern=poisson, whose flows have sizes");
  }
  constexpr TimeNs kDefaultWindows = 20;
  constexpr TimeNs kMostWindows = 100'000;
  e.duration = ParseTime(duration, "--duration");
  if (e.duration < kDefaultWindows) throw Error("--duration", duration, "20ns or more");
  e.window_time =
      window.empty() ? e.duration / kDefaultWindows : ParseTime(window, "--window-time");
  const TimeNs least = (e.duration + kMostWindows - 1) / kMostWindows;
  if (e.window_time < least || e.window_time > e.duration) {
    throw Error("--window-time", window,
                FormatTime(least) + " to the run's " + FormatTime(e.duration));
  }
  if (!e.Asks(Fidelity::kAnalytic)) return;
  if (values.at("fidelity") != DefaultValues().at("fidelity")) {
    throw Error("--fidelity", values.at("fidelity"),
                "packet, flow: at analytic fidelity flows do not share links, so that endless ones "
                "have no rate");
  }
  std::erase(e.fidelities, Fidelity::kAnalytic);
}

int64_t PullBytes(const Experiment& e) {
  if (e.pull_bytes) return *e.pull_bytes;
  int64_t all = 0;
  for (const int64_t bytes : e.bytes) all += bytes;
  return e.density.empty() ? e.dense_bytes : std::min(all, e.dense_bytes);
}

// Returns the size of part `index` of `parts` that differ by at most a byte.
int64_t Part(int64_t total, int parts, int index) {
  return total / parts + (index < total % parts ? 1 : 0);
}

}  // namespace

Experiment ParseExperiment(const OptionValues& values,
                           const std::map<std::string, std::string>& ns3_attributes) {
  if (!values.at("jobs").empty()) {
    throw Error("--jobs", values.at("jobs"),
                "nothing in a sweep or from Python; legacy-network --jobs runs them");
  }
  RefuseUnread(values);
  const Reader reader(values);
  Experiment e;
  ReadNetwork(reader, e);
  e.network.transport.attributes = ns3_attributes;
  ReadMessages(reader, e);
  if (reader.Text("collective") != "auto") {
    e.algorithm = fabric::ParseCollective(reader.Text("collective"));
  }
  ReadExchange(values, e);
  if (!reader.Text("pull-bytes").empty()) e.pull_bytes = reader.Bytes("pull-bytes");
  e.sum_bytes = reader.ByteList("sum-bytes");
  e.piece_bytes = reader.Bytes("piece-bytes");
  e.window = reader.Int("window", 1, 65536);
  e.root = reader.Int("root", 0, e.Workers() - 1);
  e.group = reader.Int("group", 0, 65536);
  e.channels = reader.Int("channels", 0, fabric::kMostChannels);
  if (e.channels > 1 && e.algorithm && !fabric::TakesChannels(*e.algorithm)) {
    throw Error("--channels", values.at("channels"),
                "1 beside --collective=" + values.at("collective") +
                    "; rings and double trees have several");
  }
  e.protocol = fabric::ParseProtocol(reader.Text("protocol"), "--protocol");
  if (e.protocol != fabric::Protocol::None && e.algorithm &&
      !(e.protocol ? fabric::TakesProtocol(*e.algorithm, *e.protocol)
                   : fabric::TakesProtocols(*e.algorithm))) {
    throw Error("--protocol", values.at("protocol"),
                (fabric::TakesProtocols(*e.algorithm) ? "none, simple or auto" : "none") +
                    std::string(" beside --collective=") + values.at("collective") +
                    "; rings and double trees have others");
  }
  e.servers = reader.Int("servers", 1, 65536);
  e.buckets = reader.Int("buckets", 1, 4096);
  e.compute = ParseTime(reader.Text("compute"), "--compute");
  e.stragglers = reader.Text("stragglers");
  fabric::MakeStragglers(e.stragglers)->Factors(e.Workers(), e.network.seed, 0);
  e.repeat = reader.Integer("repeat", 1, 1'000'000);
  e.flows_file = reader.Text("flows");
  if (values.at("workers") != DefaultValues().at("workers")) e.least_hosts = e.Workers();
  e.pattern = reader.Text("pattern");
  if (!e.flows_file.empty() && !e.pattern.empty()) {
    throw Error("--pattern", e.pattern, "either this or --flows");
  }
  ReadDuration(values, e);
  return e;
}

NetworkRequest NetworkFor(const Experiment& experiment, CollectiveAlgorithm algorithm) {
  NetworkRequest request = experiment.network;
  if (algorithm == CollectiveAlgorithm::ParameterServer) request.placement.servers = 1;
  if (algorithm == CollectiveAlgorithm::ShardedParameterServer) {
    request.placement.servers = experiment.servers;
  }
  request.placement.aggregation = fabric::AggregationOf(algorithm);
  request.placement.node = experiment.group;
  return request;
}

fabric::CollectiveSpec SpecOf(const Experiment& e, CollectiveAlgorithm algorithm,
                              const Network& network, int bucket) {
  const auto part = [&](int64_t total) { return Part(total, e.buckets, bucket); };
  const auto parts = [&](std::vector<int64_t> totals) {
    std::transform(totals.begin(), totals.end(), totals.begin(), part);
    return totals;
  };
  fabric::CollectiveSpec spec;
  spec.algorithm = algorithm;
  spec.root = e.root;
  spec.bytes = parts(e.bytes);
  spec.pullBytes = part(PullBytes(e));
  spec.servers = std::max<int>(1, static_cast<int>(network.placement.servers.size()));
  spec.group = network.placement.node;
  spec.sumBytes = parts(SumBytes(e, algorithm));
  if (algorithm == CollectiveAlgorithm::AllToAllV) {
    spec.pairBytes = parts(e.pair_bytes.empty() ? EvenByteMatrix(e.bytes) : e.pair_bytes);
  }
  spec.order = e.order;
  spec.relays = e.relays;
  spec.parents = network.placement.parents;
  spec.firstAggregator =
      static_cast<int>(network.placement.hosts.size() + network.placement.servers.size());
  spec.pieceBytes = e.piece_bytes;
  spec.window = e.window;
  fabric::ChannelOptions channels{ChannelsOf(e.channels, network), e.protocol, {}};
  if (!e.protocol) {
    channels.links = fabric::NodeLinksOf(network.topology, network.placement, spec.group);
  }
  SetChannels(spec, channels);
  return spec;
}

fabric::StepTraffic TrafficOf(const Experiment& e, CollectiveAlgorithm algorithm,
                              const Network& network, uint64_t step) {
  const std::vector<double> factors =
      fabric::MakeStragglers(e.stragglers)->Factors(e.Workers(), e.network.seed, step);
  fabric::StepTraffic traffic;
  traffic.workers = e.Workers();
  for (int b = 0; b < e.buckets; ++b) {
    fabric::BucketTraffic bucket;
    for (const double factor : factors) {
      const double share = static_cast<double>(b + 1) / e.buckets;
      bucket.ready.push_back(RoundedTime(static_cast<double>(e.compute) * factor * share));
    }
    bucket.calls.push_back({SpecOf(e, algorithm, network, b), {}});
    traffic.deviceFree = bucket.ready;  // that of the last bucket
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
