#include "scenarios/network/engines/background.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/settings.h"

namespace legacy {
namespace {

constexpr double kFlowsAWindow = 16;

// A Loaded sums over the links to which the load applies.
struct Loaded {
  double links_per_flow = 0;   // number of them that a flow between two hosts crosses on average
  double bits_per_second = 0;  // sum of their rates
};

Loaded LoadedLinks(bool core, const fabric::Topology& topology, const fabric::Placement& placement,
                   const std::vector<int>& endpoints) {
  const auto loaded = [&](fabric::DirectedLink link) {
    const bool inner = !topology.IsHost(topology.From(link)) && !topology.IsHost(topology.To(link));
    return core ? inner : topology.IsHost(topology.From(link));
  };
  Loaded sum;
  const auto links = static_cast<fabric::DirectedLink>(2 * topology.Links().size());
  for (fabric::DirectedLink link = 0; link < links; ++link) {
    if (loaded(link)) sum.bits_per_second += static_cast<double>(topology.MeanRate(link));
  }
  // If there are few hosts, these are all pairs, else each host with some others.
  constexpr size_t kMostOthers = 64;
  const size_t hosts = endpoints.size();
  const size_t step = std::max<size_t>(1, hosts / kMostOthers);
  double crossed = 0;
  double pairs = 0;
  for (size_t a = 0; a < hosts; a += step) {
    for (size_t b = 0; b < hosts; b += step) {
      if (a == b) continue;
      for (const fabric::LinkShare& hop :
           topology.Shares(placement.NodeOf(endpoints[a]), placement.NodeOf(endpoints[b]), 0)) {
        crossed += loaded(hop.link) ? hop.share : 0;
      }
      ++pairs;
    }
  }
  sum.links_per_flow = pairs > 0 ? crossed / pairs : 0;
  return sum;
}

// Returns a draw from the Poisson distribution of mean kFlowsAWindow (Knuth, TAOCP 2, 3.4.1).
int PoissonDraw(uint64_t key) {
  const double least = std::exp(-kFlowsAWindow);
  double product = 1;
  int count = -1;
  for (uint64_t i = 0; product > least; ++i, ++count) {
    product *= UnitInterval(HashWords({key, i}));
  }
  return count;
}

// Returns the time in which a source starts kFlowsAWindow flows on average.
TimeNs WindowOf(double flows_per_second) {
  return std::max<TimeNs>(1, RoundedTime(kFlowsAWindow / flows_per_second * 1e9));
}

}  // namespace

BackgroundRequest ParseBackground(const std::string& text, const std::string& key) {
  BackgroundRequest request;
  if (text == "none" || text.empty()) return request;
  Settings settings = Settings::FromText(text, key);
  if (settings.Type() != "poisson") {
    throw Error(key, text, "none, or poisson:load=0.3,on=access|core,sizes=websearch");
  }
  constexpr double kLeastLoad = 1e-6;
  constexpr double kMostScale = 1e6;
  const std::string pairs = settings.Text("pairs", "random");
  if (pairs == "demands") {
    request.demands = settings.Real("scale", 1, kLeastLoad, kMostScale);
  } else if (pairs == "random") {
    request.load = settings.Real("load", 0.3, kLeastLoad, 1);
    const std::string on = settings.Text("on", "access");
    if (on != "access" && on != "core") throw Error(settings.Location("on"), on, "access, core");
    request.core = on == "core";
  } else {
    throw Error(settings.Location("pairs"), pairs, "random, demands");
  }
  request.sizes = settings.Text("sizes", "websearch");
  settings.RejectUnread();
  FlowSizes::FromText(request.sizes, key);
  return request;
}

BackgroundTraffic::BackgroundTraffic(const BackgroundRequest& request, const std::string& key,
                                     const fabric::Topology& topology,
                                     const fabric::Placement& placement,
                                     const fabric::Transport& transport, std::vector<int> endpoints,
                                     const std::vector<fabric::Demand>& demands, uint64_t seed)
    : sizes_(FlowSizes::FromText(request.sizes, key)),
      endpoints_(std::move(endpoints)),
      seed_(seed) {
  // The load includes headers.
  const double overhead = static_cast<double>(transport.FrameBytes()) / transport.segmentBytes;
  const double bits = 8 * overhead * sizes_.Mean();
  if (request.demands > 0) {
    AddDemands(demands, bits, request.demands, key, topology, placement);
    return;
  }
  const Loaded loaded = LoadedLinks(request.core, topology, placement, endpoints_);
  if (endpoints_.size() < 2 || loaded.links_per_flow == 0) {
    throw Error(key, request.core ? "on=core" : "on=access",
                "two or more hosts, with links of that kind between them");
  }
  const double flows = request.load * loaded.bits_per_second / (bits * loaded.links_per_flow);
  for (const int endpoint : endpoints_) {
    sources_.push_back({endpoint, -1, WindowOf(flows / static_cast<double>(endpoints_.size()))});
  }
}

// Makes a source for each demand, between the first hosts at its nodes.
void BackgroundTraffic::AddDemands(const std::vector<fabric::Demand>& demands, double bits_per_flow,
                                   double scale, const std::string& key,
                                   const fabric::Topology& topology,
                                   const fabric::Placement& placement) {
  if (demands.empty()) {
    throw Error(key, "pairs=demands", "demands, which SNDlib's files of this topology's kind have");
  }
  std::map<int, int> at;  // endpoint of the first host at each node
  for (const int endpoint : endpoints_) {
    const int host = placement.NodeOf(endpoint);
    at.emplace(host, endpoint);
    for (const fabric::DirectedLink link : topology.Out(host)) {
      at.emplace(topology.To(link), endpoint);
    }
  }
  for (const fabric::Demand& demand : demands) {
    for (const int node : {demand.source, demand.destination}) {
      if (at.count(node) == 0) {
        throw Error(key, "pairs=demands", "a host at " + topology.NodeName(node));
      }
    }
    if (demand.bitsPerSecond <= 0) continue;
    sources_.push_back({at.at(demand.source), at.at(demand.destination),
                        WindowOf(scale * demand.bitsPerSecond / bits_per_flow)});
  }
}

std::vector<BackgroundTraffic::Arrival> BackgroundTraffic::ArrivalsIn(size_t number,
                                                                      int64_t window) const {
  const Source& source = sources_[number];
  const uint64_t key =
      HashWords({seed_, uint64_t{0x6261636b}, number, static_cast<uint64_t>(window)});
  std::vector<Arrival> arrivals(static_cast<size_t>(PoissonDraw(key)));
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const auto draw = [&](uint64_t what) { return HashWords({key, i, what, 1}); };
    const double part = UnitInterval(draw(0));
    arrivals[i].time =
        window * source.window + static_cast<TimeNs>(part * static_cast<double>(source.window));
    fabric::Flow& flow = arrivals[i].flow;
    flow.source = source.endpoint;
    flow.destination = source.destination;
    if (flow.destination < 0) {
      const uint64_t other = Reduce(draw(1), endpoints_.size() - 1);
      flow.destination = endpoints_[other + (other >= number ? 1 : 0)];
    }
    flow.bytes = sizes_.At(UnitInterval(draw(2)));
    flow.tag = number;
  }
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.time < b.time; });
  return arrivals;
}

// A Graph sends each source's flows when they are due.
class BackgroundTraffic::Graph : public fabric::FlowGraph {
 public:
  Graph(const BackgroundTraffic& traffic, TimeNs start)
      : traffic_(traffic), start_(start), hosts_(traffic.sources_.size()) {}

  void OnStart(fabric::FlowSink& sink) override {
    origin_ = sink.Now();
    for (size_t host = 0; host < hosts_.size(); ++host) {
      hosts_[host].window = start_ / traffic_.sources_[host].window;
      hosts_[host].arrivals = traffic_.ArrivalsIn(host, hosts_[host].window);
      while (Next(host).time < start_) ++hosts_[host].next;
      Await(host, sink);
    }
  }
  void OnWake(uint64_t host, fabric::FlowSink& sink) override {
    sink.Send(Next(host).flow);
    ++hosts_[host].next;
    Await(host, sink);
  }
  void OnDelivered(const fabric::Flow&, fabric::FlowSink&) override {}
  void OnFailed(const fabric::Flow&, fabric::FlowSink&) override {}
  bool Done() const override { return false; }

 private:
  struct Host {
    int64_t window = 0;
    std::vector<Arrival> arrivals;  // arrivals of the window
    size_t next = 0;
  };

  const Arrival& Next(size_t number) {
    Host& host = hosts_[number];
    while (host.next == host.arrivals.size()) {
      host.arrivals = traffic_.ArrivalsIn(number, ++host.window);
      host.next = 0;
    }
    return host.arrivals[host.next];
  }
  void Await(size_t host, fabric::FlowSink& sink) {
    const TimeNs due = Next(host).time - start_ + origin_;
    sink.Wake(std::max<TimeNs>(0, due - sink.Now()), host);
  }

  const BackgroundTraffic& traffic_;
  const TimeNs start_;
  TimeNs origin_ = 0;        // the engine's time at the start
  std::vector<Host> hosts_;  // by source
};

std::unique_ptr<fabric::FlowGraph> BackgroundTraffic::From(TimeNs start) const {
  return std::make_unique<Graph>(*this, start);
}

}  // namespace legacy
