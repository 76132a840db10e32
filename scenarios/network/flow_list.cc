#include "scenarios/network/flow_list.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/settings.h"
#include "ns3-module/fabric/engine/connection.h"
#include "scenarios/network/engines/flow_sizes.h"
#include "scenarios/network/flow_formats.h"
#include "scenarios/network/input/host_names.h"

namespace legacy {
namespace {

constexpr uint64_t kPatternStream = 0x7061747465726EULL;  // keeps these draws apart from others
enum Draw : uint64_t { kOrder, kInterval, kSource, kDestination, kSize };

// HostWorkers maps hosts to their workers.
class HostWorkers {
 public:
  explicit HostWorkers(const Network& network) : hosts_(network.topology, network.numbers) {
    for (int w = 0; w < network.placement.Workers(); ++w) {
      workers_.emplace(network.placement.hosts[w], w);
    }
  }

  int Find(const std::string& text, const std::string& where) const {
    return WorkerAt(hosts_.Find(text, where), text, where);
  }
  int FindNumber(int64_t number, const std::string& where) const {
    return WorkerAt(hosts_.FindNumber(number, where), std::to_string(number), where);
  }

 private:
  int WorkerAt(int node, const std::string& text, const std::string& where) const {
    const auto found = workers_.find(node);
    if (found == workers_.end()) {
      throw Error(where, text,
                  "a host with a worker: --workers=" + std::to_string(workers_.size()));
    }
    return found->second;
  }

  HostNames hosts_;
  std::unordered_map<int, int> workers_;
};

// Returns the start, which is given in seconds, as a time.
TimeNs ParseStart(const std::string& text, const std::string& where) {
  constexpr double kLatest = 1e9;  // seconds; fits int64 nanoseconds
  return std::llround(1e9 * ParseNumber(text, where + ": start", 0, kLatest));
}

// Reads a row of source, destination, bytes (unless flows are endless) and start.
FlowRequest ParseFlow(const CsvRows& row, const HostWorkers& hosts, bool endless) {
  const std::string where = row.Where();
  const std::vector<std::string> fields(row.Cells().begin(), row.Cells().end());
  const size_t least = endless ? 2 : 3;
  if (fields.size() != least && fields.size() != least + 1) {
    throw Error(where, std::to_string(fields.size()) + " fields",
                endless ? "source, destination, start in seconds: endless flows have no bytes"
                        : "source, destination, bytes, start in seconds");
  }
  FlowRequest flow;
  flow.source = hosts.Find(fields[0], where + ": source");
  flow.destination = hosts.Find(fields[1], where + ": destination");
  if (flow.source == flow.destination) {
    throw Error(where + ": destination", fields[1], "a host other than the source");
  }
  if (!endless) flow.bytes = ParseBytes(fields[2], where + ": bytes");
  if (fields.size() > least) flow.start = ParseStart(fields.back(), where);
  return flow;
}

// Returns true for a line of column names: no size or time starts with a letter.
bool IsHeader(const std::vector<std::string_view>& cells) {
  if (cells.size() == 2) return cells[0] == "source";
  return cells.size() > 2 && !cells[2].empty() &&
         std::isalpha(static_cast<unsigned char>(cells[2][0]));
}

// Returns the flows of a list in another simulator's format.
std::vector<FlowRequest> FromListed(const ListedFlows& list, const HostWorkers& hosts, int workers,
                                    bool endless) {
  if (list.nodes > workers) {
    throw Error(list.nodes_where, std::to_string(list.nodes),
                "at most " + std::to_string(workers) + ", as there are workers");
  }
  std::vector<FlowRequest> flows;
  for (const ListedFlow& listed : list.flows) {
    FlowRequest flow;
    flow.source = hosts.FindNumber(listed.source, listed.where + ": source");
    flow.destination = hosts.FindNumber(listed.destination, listed.where + ": destination");
    if (flow.source == flow.destination) {
      throw Error(listed.where + ": destination", std::to_string(listed.destination),
                  "a host other than the source");
    }
    if ((listed.bytes == 0) != endless) {
      throw Error(listed.where + ": size", std::to_string(listed.bytes),
                  endless ? "0, for flows without an end" : "1 or more, or all 0 with --duration");
    }
    flow.bytes = listed.bytes;
    flow.start = listed.start;
    flows.push_back(flow);
  }
  return flows;
}

std::vector<FlowRequest> ReadList(const std::string& path, const Network& network, bool endless) {
  const HostWorkers hosts(network);
  std::vector<FlowRequest> flows;
  std::string text = ReadCsvText(path, "--flows");
  if (const FlowReader reader = FlowReaderOf(text)) {
    const ListedFlows list = reader(path, std::move(text));
    SayImported(path, list.report);
    flows = FromListed(list, hosts, network.placement.Workers(), endless);
    if (flows.empty()) throw Error::Refusal(path + ": no flow");
    return flows;
  }
  CsvRows rows(path, std::move(text), CsvKind::kByHand);
  for (bool first = true; rows.Next(); first = false) {
    if (first && IsHeader(rows.Cells())) continue;
    flows.push_back(ParseFlow(rows, hosts, endless));
  }
  if (flows.empty()) {
    throw Error::Refusal(path + ": no flow; expected source, destination, " +
                         (endless ? "start" : "bytes, start"));
  }
  return flows;
}

std::vector<FlowRequest> Permutation(int workers, int64_t bytes, uint64_t seed) {
  std::vector<int> order(workers);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) {
    const uint64_t hash = HashWords({kPatternStream, seed, i, kOrder});
    std::swap(order[i - 1], order[Reduce(hash, i)]);
  }
  std::vector<FlowRequest> flows;  // this is one cycle through all workers in random order
  for (int i = 0; i < workers; ++i) {
    flows.push_back({order[i], order[(i + 1) % workers], bytes, 0});
  }
  return flows;
}

std::vector<FlowRequest> AllToAll(int workers, int64_t bytes) {
  std::vector<FlowRequest> flows;
  for (int distance = 1; distance < workers; ++distance) {
    for (int w = 0; w < workers; ++w) flows.push_back({w, (w + distance) % workers, bytes, 0});
  }
  return flows;
}

std::vector<FlowRequest> Incast(const std::string& text, int workers, int64_t bytes) {
  const auto senders = ParseInteger(text, "--pattern: incast", 1, workers - 1);
  std::vector<FlowRequest> flows;
  for (int w = 1; w <= senders; ++w) flows.push_back({w, 0, bytes, 0});
  return flows;
}

// Returns the bytes per second that all workers' NICs carry together.
double NicBytesPerSecond(const Network& network) {
  double bits = 0;
  for (const int host : network.placement.hosts) {
    for (const fabric::DirectedLink link : network.topology.Out(host)) {
      bits += static_cast<double>(network.topology.PortOf(link).rateBps);
    }
  }
  return bits / 8;
}

std::vector<FlowRequest> Poisson(const std::string& text, uint64_t seed, const Network& network) {
  Settings settings = Settings::FromText(text, "--pattern");
  constexpr double kLeastLoad = 1e-6;
  const double load = settings.Real("load", 0.5, kLeastLoad, 10);
  const int count = settings.Int("flows", 1000, 1, 100'000'000);
  const FlowSizes sizes =
      FlowSizes::FromText(settings.Text("cdf", "websearch"), settings.Location("cdf"));
  settings.RejectUnread();
  const auto workers = static_cast<uint64_t>(network.placement.Workers());
  const double interval =
      // These are the seconds between arrivals.
      sizes.Mean() / (load * NicBytesPerSecond(network));
  std::vector<FlowRequest> flows;
  double now = 0;
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
    const auto draw = [&](Draw what) { return HashWords({kPatternStream, seed, i, what}); };
    now -= interval * std::log(UnitInterval(draw(kInterval)));
    const auto source = static_cast<int>(Reduce(draw(kSource), workers));
    const auto other = static_cast<int>(Reduce(draw(kDestination), workers - 1));
    flows.push_back({source, other + (other >= source ? 1 : 0), sizes.At(UnitInterval(draw(kSize))),
                     RoundedTime(1e9 * now)});
  }
  return flows;
}

// Returns the positions of flows in the order of their starts; those that start at the same time
// keep their order.
std::vector<size_t> ByStart(const std::vector<FlowRequest>& flows) {
  std::vector<size_t> order(flows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return flows[a].start < flows[b].start; });
  return order;
}

// Numbers the flows between each pair of workers, so that each has its own connection. If there are
// more flows than lanes, the lanes are assigned again, beginning with the first flow's.
std::vector<FlowRequest> WithConnections(std::vector<FlowRequest> flows, const Network& network) {
  const int most = network.stripes->MostLanes();
  std::unordered_map<uint64_t, int> lanes;  // next lane, by the two workers
  for (const size_t i : ByStart(flows)) {
    FlowRequest& flow = flows[i];
    int& next =
        lanes[static_cast<uint64_t>(flow.source) << 32 | static_cast<uint64_t>(flow.destination)];
    flow.lane = static_cast<uint16_t>(next);
    next = next + 1 < most ? next + 1 : 0;
  }
  return flows;
}

}  // namespace

std::vector<FlowRequest> ReadFlows(const std::string& path, const Network& network) {
  return WithConnections(ReadList(path, network, false), network);
}

std::vector<FlowRequest> ReadEndlessFlows(const std::string& path, const Network& network) {
  return WithConnections(ReadList(path, network, true), network);
}

std::vector<FlowRequest> MakePattern(const std::string& text, int64_t bytes, uint64_t seed,
                                     const Network& network) {
  const int workers = network.placement.Workers();
  const std::string name = text.substr(0, text.find(':'));
  if (workers < 2) throw Error("--workers", std::to_string(workers), "2 or more for a pattern");
  if (text == "permutation") return Permutation(workers, bytes, seed);
  if (text == "all-to-all") return AllToAll(workers, bytes);
  if (name == "incast")
    return Incast(text.substr(std::min<size_t>(text.size(), 7)), workers, bytes);
  if (name == "poisson") return WithConnections(Poisson(text, seed, network), network);
  throw Error("--pattern", text,
              "permutation, incast:N, all-to-all, poisson:load=0.5,cdf=websearch,flows=1000");
}

TimeNs IdealTime(const FlowRequest& flow, const Network& network) {
  if (flow.bytes == 0) return 0;
  const fabric::Topology& topology = network.topology;
  const fabric::Transport& transport = network.request.transport;
  const fabric::Flow sent{
      .source = flow.source, .destination = flow.destination, .lane = flow.lane};
  const fabric::ConnectionName connection =
      network.connections->Of(sent, network.stripes->LaneOf(sent, 0));
  const std::vector<fabric::DirectedLink> route =
      topology.Route(connection.source, connection.destination, connection.id);
  const int switches = std::max(1, static_cast<int>(route.size())) - 1;
  const int64_t part = CeilDivide(flow.bytes, network.stripes->PlanesOf(sent));
  const int64_t wire = transport.WireBytes(part, switches);
  const int64_t first = std::min(wire, transport.FirstFrameBytes(switches));
  TimeNs time = 0;
  int64_t slowest = INT64_MAX;
  for (const fabric::DirectedLink hop : route) {
    const int64_t rate = topology.PortOf(hop).rateBps;
    const TimeNs delay = topology.LinkOf(hop).delay;
    time = Later(time, Later(SerialisationTime(first, rate), delay));
    slowest = std::min(slowest, rate);
  }
  return Later(time, SerialisationTime(wire - first, slowest));
}

FlowListGraph::FlowListGraph(const std::vector<FlowRequest>& flows)
    : flows_(flows), order_(ByStart(flows)) {}

void FlowListGraph::OnStart(fabric::FlowSink& sink) {
  started_ = true;
  origin_ = sink.Now();
  SendDue(sink);
}

void FlowListGraph::OnDelivered(const fabric::Flow&, fabric::FlowSink&) { ++delivered_; }

void FlowListGraph::OnWake(uint64_t, fabric::FlowSink& sink) { SendDue(sink); }

// Sends the flows that are due. Only the next start is in the engine's queue, no matter how long
// the list is.
void FlowListGraph::SendDue(fabric::FlowSink& sink) {
  const TimeNs now = sink.Now() - origin_;
  while (next_ < order_.size() && flows_[order_[next_]].start <= now) {
    const size_t index = order_[next_++];
    const FlowRequest& flow = flows_[index];
    sink.Send({flow.source, flow.destination, flow.bytes, index, false, flow.lane,
               fabric::Opening::Pooled});
  }
  if (next_ < order_.size()) sink.Wake(flows_[order_[next_]].start - now, 0);
}

FlowListTiming SimulateFlows(const std::vector<FlowRequest>& flows,
                             const fabric::EngineRequest& request,
                             const fabric::EngineFactory& factory) {
  FlowRecorder recorder;
  const auto engine = recorder.Wrap(factory)(request);
  const auto run_to_end = [&] {
    if (!engine->RunUntil(kNever)) {
      throw Error(engine->Name() + " engine: stopped before all flows had arrived");
    }
  };
  fabric::EngineCounters counters;
  std::vector<fabric::LinkCounters> links;
  if (request.transport.WarmsUp() && !engine->StartsWarm()) {
    FlowListGraph first(flows);
    engine->Submit(first, 0);
    run_to_end();
    counters = engine->Counters();
    links = engine->Links();
  }
  engine->SetScheduleTime(0);
  const auto background = request.background ? request.background(0) : nullptr;
  if (background) engine->SubmitBackground(*background, engine->Now());
  FlowListGraph graph(flows);
  engine->Submit(graph, engine->Now());
  run_to_end();

  FlowListTiming result;
  result.flows = recorder.Take();
  for (const RecordedFlow& flow : result.flows) {
    result.timing.total = std::max(result.timing.total, flow.end);
  }
  result.timing.counters = fabric::Difference(engine->Counters(), counters);
  result.timing.links = fabric::Difference(engine->Links(), links);
  return result;
}

}  // namespace legacy
