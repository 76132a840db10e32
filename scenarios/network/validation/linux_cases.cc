#include "scenarios/network/validation/linux_cases.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/recorded_table.h"
#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/parse.h"
#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/validation/flows_at_once.h"

namespace legacy {
namespace {

using fabric::CollectiveAlgorithm;

// The measurement states neither the rate of a link without a limit, nor the time that a packet
// takes from one namespace to the next. These values are assumed.
constexpr int64_t kUnlimitedBps = 10'000'000'000;
constexpr int64_t kUnlimitedQueue = 100'000'000;
constexpr TimeNs kHop = 10'000;
// The headers of IPv4 and TCP with timestamps, and the bytes of ns-3's link layer (PPP).
constexpr int kHeaders = 52;
constexpr int kPpp = 2;
constexpr int kRepetitions = 5;

// --- Facts ---------------------------------------------------------------------------------------

// A Facts object is a CSV file whose columns have names.
class Facts {
 public:
  Facts(const std::string& name, const std::string& text) : rows_(CsvCells(name, text)) {
    for (size_t i = 0; i < rows_.front().size(); ++i) columns_[rows_.front()[i]] = i;
  }
  size_t Size() const { return rows_.size() - 1; }
  const std::string& At(size_t row, const std::string& column) const {
    return rows_.at(row + 1).at(columns_.at(column));
  }
  double Number(size_t row, const std::string& column) const { return std::stod(At(row, column)); }
  int64_t Whole(size_t row, const std::string& column) const { return std::stoll(At(row, column)); }

 private:
  std::vector<ValidationRow> rows_;
  std::map<std::string, size_t> columns_;
};

int64_t Megabits(const std::string& text) { return std::llround(std::stod(text) * 1e6); }

LinuxCase CollectiveCase(const Facts& facts, size_t row) {
  LinuxCase one;
  one.operation = facts.At(row, "operation");
  one.congestion = facts.At(row, "congestion_control");
  for (const std::string& rate : Split(facts.At(row, "rates_mbps"), '-')) {
    LinuxHost host;
    host.up_bps = host.down_bps = Megabits(rate);
    host.delay = kHop;
    host.queue_bytes = facts.Whole(row, "queue_bytes");
    one.hosts.push_back(host);
  }
  one.warm = facts.At(row, "warm") == "1";
  one.mtu = static_cast<int>(facts.Whole(row, "mtu"));
  one.burst_bytes = facts.Whole(row, "burst_bytes");
  one.bytes = facts.Whole(row, "bytes");
  one.smallest_frames = facts.Number(row, "smallest_message_frames");
  one.seconds = facts.Number(row, "seconds_median");
  one.least = facts.Number(row, "seconds_min");
  one.largest = facts.Number(row, "seconds_max");
  one.fluid_seconds = facts.Number(row, "max_min_seconds");
  const std::vector<std::string> rates = Split(facts.At(row, "rates_mbps"), '-');
  const bool equal = std::ranges::all_of(rates, [&](const auto& rate) { return rate == rates[0]; });
  one.name = facts.At(row, "set") + " " +
             (equal ? facts.At(row, "hosts") + "x" + rates[0] : facts.At(row, "rates_mbps")) +
             " mtu " + facts.At(row, "mtu") + " queue " + facts.At(row, "queue_bytes") + " " +
             one.operation + " " + facts.At(row, "bytes") + " " + one.congestion;
  return one;
}

LinuxHost WanHost(const std::string& text) {
  const std::vector<std::string> parts = Split(Split(text, ':').at(1), '/');
  LinuxHost host;
  host.up_bps = Megabits(parts.at(0));
  host.down_bps = Megabits(parts.at(1));
  host.delay = std::llround(std::stod(parts.at(2)) * 1e6);
  host.queue_bytes = std::stoll(parts.at(3));
  host.loss = std::stod(parts.at(4));
  return host;
}

// Splits the name of a WAN row, as in "ring_ar4_100000_cubic", from the right.
LinuxCase WanCase(const Facts& facts, size_t row) {
  LinuxCase one;
  one.name = facts.At(row, "case");
  const std::vector<std::string> words = Split(one.name, '_');
  one.congestion = facts.At(row, "congestion_control");
  for (const std::string& host : Split(facts.At(row,
                                                "hosts(host:up/down Mbit/s/owd ms/queue bytes/"
                                                "loss)"),
                                       ';')) {
    one.hosts.push_back(WanHost(host));
  }
  one.operation = "single";
  one.bytes = facts.Whole(row, "bytes");
  for (const char* operation : {"ring_ar", "hd_ar", "ps"}) {
    if (one.name.starts_with(operation)) {
      one.operation = operation;
      one.bytes = std::stoll(words.at(words.size() - 2));
    }
  }
  one.shaped_hosts = false;
  one.warm = facts.At(row, "warm") == "1";
  one.link_header = 0;
  one.seconds = facts.Number(row, "seconds_median");
  one.least = facts.Number(row, "seconds_min");
  one.largest = facts.Number(row, "seconds_max");
  const auto share = static_cast<int64_t>(one.operation == "single" ? 1 : one.hosts.size());
  one.smallest_frames = static_cast<double>(one.bytes) / static_cast<double>(share) /
                        static_cast<double>(one.mtu - kHeaders);
  return one;
}

// --- Networks ------------------------------------------------------------------------------------

// Returns `amount` (a rate or bytes) converted to ns-3's frames, of which a full one is shorter or
// longer than a measured one.
int64_t Scaled(const LinuxCase& one, int64_t amount) {
  const double factor = static_cast<double>(one.mtu + kPpp) / (one.mtu + one.link_header);
  return std::llround(static_cast<double>(amount) * factor);
}

fabric::Port PortOf(const LinuxCase& one, const LinuxHost& host, int64_t rate_bps) {
  fabric::Port port;
  port.rateBps = rate_bps > 0 ? Scaled(one, rate_bps) : kUnlimitedBps;
  port.queueBytes = Scaled(one, host.queue_bytes);
  port.errorRate = host.loss;
  port.burstBytes = Scaled(one, one.burst_bytes);
  return port;
}

// Hosts that are shaped by their own token bucket are ends of the shaped links. The links of an
// emulator begin after the hosts.
void BuildStar(const LinuxCase& one, fabric::Topology& topology, fabric::Placement& placement) {
  const int middle = topology.AddSwitch("middle");
  for (size_t i = 0; i < one.hosts.size(); ++i) {
    const LinuxHost& host = one.hosts[i];
    int edge = topology.AddHost("host" + std::to_string(i));
    placement.hosts.push_back(edge);
    if (!one.shaped_hosts) {
      const int outside = topology.AddSwitch("edge" + std::to_string(i));
      fabric::Port open;
      open.rateBps = kUnlimitedBps;
      open.queueBytes = kUnlimitedQueue;
      topology.AddLink(fabric::Link(edge, outside, kHop, open));
      edge = outside;
    }
    fabric::Link link;
    link.a = edge;
    link.b = middle;
    link.delay = host.delay;
    link.ports = {PortOf(one, host, host.up_bps), PortOf(one, host, host.down_bps)};
    topology.AddLink(link);
  }
}

fabric::Transport TransportOf(const LinuxCase& one, LinuxEngine engine) {
  constexpr int64_t kBuffer = 32 << 20;
  fabric::Transport transport =
      fabric::MakeTransport(engine == LinuxEngine::kSegments ? "wan" : "ns3:wan");
  transport.congestionControl = one.congestion;
  transport.connections = one.warm ? fabric::ConnectionKind::Warm : fabric::ConnectionKind::Cold;
  transport.SetMtu(one.mtu);
  transport.socketBufferBytes = kBuffer;
  if (one.shaped_hosts) {
    // A token bucket has one queue for all sockets, and refuses data for which it has no room.
    const int64_t queue = Scaled(one, one.hosts.front().queue_bytes);
    transport.attributes["legacy::HostQueueDisc::Fair"] = "false";
    transport.attributes["legacy::HostQueueDisc::Limit"] = std::to_string(queue);
  }
  return transport;
}

// --- Operations ----------------------------------------------------------------------------------

// One byte from each host to each other one, each after the one before has arrived. Linux opens
// connections like that, and measures their round trips while nothing else is on the way.
class Openings : public fabric::FlowGraph {
 public:
  explicit Openings(int hosts) {
    for (int from = 0; from < hosts; ++from) {
      for (int to = 0; to < hosts; ++to) {
        if (from != to) flows_.push_back({from, to, 1, 0});
      }
    }
  }
  void OnStart(fabric::FlowSink& sink) override { sink.Send(flows_.front()); }
  void OnDelivered(const fabric::Flow&, fabric::FlowSink& sink) override {
    if (++arrived_ < flows_.size()) sink.Send(flows_[arrived_]);
  }
  void OnWake(uint64_t, fabric::FlowSink&) override {}
  bool Done() const override { return arrived_ == flows_.size(); }

 private:
  std::vector<fabric::Flow> flows_;
  size_t arrived_ = 0;
};

// Returns the N blocks of a ring all-gather. The size of the largest one follows from the fluid
// time: it crosses N - 1 links, one after the other. All blocks except for this one and the
// smallest one are assumed to be equal.
std::vector<int64_t> RingBlocks(const LinuxCase& one) {
  // Host 6 of 8 has the largest block: otherwise the fluid time of the row with eight rates would
  // be wrong.
  constexpr size_t kLargestOf8 = 6;
  constexpr double kLargestOf4 = 6.0 / 13;  // share of all bytes, from the fluid times
  constexpr double kLargestPartOf8 = 4.0 / 13;
  const size_t count = one.hosts.size();
  const auto bytes = static_cast<double>(one.bytes);
  const double largest = bytes * (count == 8 ? kLargestPartOf8 : kLargestOf4);
  const double smallest = one.smallest_frames * (one.mtu - kHeaders);
  const double other = (bytes - largest - smallest) / static_cast<double>(count - 2);
  std::vector<int64_t> blocks(count, std::llround(other));
  const size_t where = count == 8 ? kLargestOf8 : count - 1;
  blocks[where] = std::llround(largest);
  blocks[(where + 1) % count] = std::llround(smallest);
  return blocks;
}

fabric::CollectiveSpec SpecOf(const LinuxCase& one) {
  const std::map<std::string, CollectiveAlgorithm> algorithms = {
      {"ring_ar", CollectiveAlgorithm::RingAllReduce},
      {"ring_ag", CollectiveAlgorithm::RingAllGather},
      {"hd_ar", CollectiveAlgorithm::HalvingDoublingAllReduce},
      {"ps", CollectiveAlgorithm::ParameterServer},
      {"ps_uneq", CollectiveAlgorithm::ParameterServer}};
  const auto found = algorithms.find(one.operation);
  if (found == algorithms.end()) throw Error("operation", one.operation, "one of linux_tcp/");
  fabric::CollectiveSpec spec;
  spec.algorithm = found->second;
  spec.bytes.assign(one.hosts.size(), one.bytes);
  if (one.operation == "ring_ag") spec.bytes = RingBlocks(one);
  if (found->second == CollectiveAlgorithm::ParameterServer) {
    const size_t workers = one.hosts.size() - 1;
    spec.bytes.assign(workers, one.bytes);
    spec.pullBytes = one.bytes;
    spec.root = static_cast<int>(workers);
    if (one.operation == "ps_uneq") {
      const int64_t least = std::llround(one.smallest_frames * (one.mtu - kHeaders));
      const int64_t rest = static_cast<int64_t>(workers) * one.bytes - least;
      spec.bytes.assign(workers, rest / static_cast<int64_t>(workers - 1));
      spec.bytes.front() = least;
    }
  }
  return spec;
}

fabric::StepTraffic TrafficOf(const fabric::CollectiveSpec& spec) {
  fabric::StepTraffic traffic;
  traffic.workers = static_cast<int>(spec.bytes.size());
  traffic.deviceFree.assign(spec.bytes.size(), 0);
  fabric::BucketTraffic bucket;
  bucket.ready.assign(spec.bytes.size(), 0);
  fabric::CallTraffic call;
  call.collective = spec;
  bucket.calls.push_back(call);
  traffic.buckets.push_back(bucket);
  return traffic;
}

// Returns the operation as a graph.
std::unique_ptr<fabric::FlowGraph> GraphOf(const LinuxCase& one) {
  const auto count = static_cast<int>(one.hosts.size());
  if (one.operation == "single") {
    return std::make_unique<FlowsAtOnce>(std::vector<fabric::Flow>{{0, 1, one.bytes, 0}});
  }
  if (one.operation == "a2a") {
    std::vector<fabric::Flow> flows;
    for (int from = 0; from < count; ++from) {
      for (int to = 0; to < count; ++to) {
        if (from != to) flows.push_back({from, to, one.bytes / count, 0});
      }
    }
    return std::make_unique<FlowsAtOnce>(std::move(flows));
  }
  return std::make_unique<fabric::StepGraph>(TrafficOf(SpecOf(one)));
}

// Returns the traffic before the operation: the connections are opened, and used where they are
// warm; or one byte goes there and one back.
std::vector<std::unique_ptr<fabric::FlowGraph>> Before(const LinuxCase& one) {
  constexpr int kWarmUps = 2;
  std::vector<std::unique_ptr<fabric::FlowGraph>> before;
  if (!one.warm) {
    before.push_back(
        std::make_unique<FlowsAtOnce>(std::vector<fabric::Flow>{{0, 1, 1, 0}, {1, 0, 1, 0}}));
    return before;
  }
  // How the connections through the emulator were opened is not known.
  if (one.shaped_hosts) {
    before.push_back(std::make_unique<Openings>(static_cast<int>(one.hosts.size())));
  }
  for (int i = 0; i < kWarmUps; ++i) before.push_back(GraphOf(one));
  return before;
}

// Runs a graph to its end, after one second in which queues and buckets settle. Returns its time.
TimeNs Run(fabric::Engine& engine, fabric::FlowGraph& graph) {
  constexpr TimeNs kRest = 1'000'000'000;
  const TimeNs start = engine.Now() + kRest;
  engine.Submit(graph, start);
  if (!engine.RunUntil(kNever)) throw Error("a measured operation did not end");
  return engine.Now() - start;
}

// Returns the times of some repetitions on one engine. On cold connections there is only one.
std::vector<double> RunCase(const LinuxCase& one, LinuxEngine which, uint64_t seed) {
  fabric::Topology topology;
  fabric::Placement placement;
  BuildStar(one, topology, placement);
  if (one.operation.starts_with("ps")) {  // host 0 is the server, the last endpoint
    std::rotate(placement.hosts.begin(), placement.hosts.begin() + 1, placement.hosts.end());
    placement.servers = {placement.hosts.back()};
    placement.hosts.pop_back();
  }
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport = TransportOf(one, which);
  request.seed = seed;
  const Fidelity fidelity = which == LinuxEngine::kFlow ? Fidelity::kFlow : Fidelity::kPacket;
  const auto engine = FactoryOf(fidelity, "validation")(request);
  for (const auto& graph : Before(one)) Run(*engine, *graph);
  std::vector<double> times;
  for (int i = 0; i < (one.warm ? kRepetitions : 1); ++i) {
    times.push_back(InSeconds(Run(*engine, *GraphOf(one))));
  }
  return times;
}

}  // namespace

bool LinuxCase::RunsOn(LinuxEngine engine) const {
  return congestion != "bbr" || engine == LinuxEngine::kSegments;
}

bool LinuxCase::Starved() const {
  constexpr int kLeastWindow = 2;  // segments
  int64_t senders = 1;
  if (operation == "ps" || operation == "ps_uneq" || operation == "a2a") {
    senders = static_cast<int64_t>(hosts.size()) - 1;
  }
  const int64_t least = kLeastWindow * senders * (mtu + link_header);
  return std::ranges::any_of(hosts,
                             [&](const LinuxHost& host) { return host.queue_bytes < least; });
}

std::vector<LinuxCase> LinuxCases() {
  std::vector<LinuxCase> cases;
  const Facts collectives("collectives.csv", LinuxCollectivesCsv());
  for (size_t row = 0; row < collectives.Size(); ++row) {
    cases.push_back(CollectiveCase(collectives, row));
  }
  const Facts wan("wan.csv", LinuxWanCsv());
  for (size_t row = 0; row < wan.Size(); ++row) cases.push_back(WanCase(wan, row));
  return cases;
}

double SimulateLinuxCase(const LinuxCase& measured, LinuxEngine engine, TimeNs shift) {
  LinuxCase one = measured;
  for (size_t i = 0; i < one.hosts.size(); ++i) {
    one.hosts[i].delay += static_cast<TimeNs>(i) * shift;
  }
  const bool random =
      std::ranges::any_of(one.hosts, [](const auto& host) { return host.loss > 0; });
  std::vector<double> times;
  for (int seed = 1; seed <= (random ? kRepetitions : 1); ++seed) {
    std::ranges::copy(RunCase(one, engine, static_cast<uint64_t>(seed)), std::back_inserter(times));
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace legacy
