#include "scenarios/network/background.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "ns3-module/fabric/base/error.h"
#include "ns3-module/fabric/base/hash.h"
#include "ns3-module/fabric/base/settings.h"

namespace legacy {
namespace {

using fabric::TimeNs;

constexpr double kFlowsAWindow = 16;

// Returns how many links of the loaded kind a flow between two hosts crosses on average, and the
// sum of the rates of such links in bit/s.
struct Loaded {
  double links_per_flow = 0;
  double bits_per_second = 0;
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
  // All pairs of few hosts, else each host with some others.
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
    product *= fabric::UnitInterval(fabric::HashWords({key, i}));
  }
  return count;
}

}  // namespace

BackgroundRequest ParseBackground(const std::string& text, const std::string& key) {
  BackgroundRequest request;
  if (text == "none" || text.empty()) return request;
  fabric::Settings settings = fabric::Settings::FromText(text, key);
  if (settings.Type() != "poisson") {
    throw Error(key, text, "none, or poisson:load=0.3,on=access|core,sizes=websearch");
  }
  constexpr double kLeastLoad = 1e-6;
  request.load = settings.Real("load", 0.3, kLeastLoad, 1);
  const std::string on = settings.Text("on", "access");
  if (on != "access" && on != "core") throw Error(settings.Location("on"), on, "access, core");
  request.core = on == "core";
  request.sizes = settings.Text("sizes", "websearch");
  settings.RejectUnread();
  FlowSizes::FromText(request.sizes, key);
  return request;
}

BackgroundTraffic::BackgroundTraffic(const BackgroundRequest& request, const std::string& key,
                                     const fabric::Topology& topology,
                                     const fabric::Placement& placement,
                                     const fabric::Transport& transport, std::vector<int> endpoints,
                                     uint64_t seed)
    : sizes_(FlowSizes::FromText(request.sizes, key)),
      endpoints_(std::move(endpoints)),
      seed_(seed) {
  const Loaded loaded = LoadedLinks(request.core, topology, placement, endpoints_);
  if (endpoints_.size() < 2 || loaded.links_per_flow == 0) {
    throw Error(key, request.core ? "on=core" : "on=access",
                "two or more hosts, with links of that kind between them");
  }
  // Headers are a part of the load.
  const double overhead = static_cast<double>(transport.FrameBytes()) / transport.segmentBytes;
  const double bits = 8 * overhead * sizes_.Mean() * loaded.links_per_flow;
  rate_ = request.load * loaded.bits_per_second / bits / static_cast<double>(endpoints_.size());
  window_ = std::max<TimeNs>(1, fabric::RoundedTime(kFlowsAWindow / rate_ * 1e9));
}

std::vector<BackgroundTraffic::Arrival> BackgroundTraffic::ArrivalsIn(size_t source,
                                                                      int64_t window) const {
  const uint64_t key =
      fabric::HashWords({seed_, uint64_t{0x6261636b}, source, static_cast<uint64_t>(window)});
  std::vector<Arrival> arrivals(static_cast<size_t>(PoissonDraw(key)));
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const auto draw = [&](uint64_t what) { return fabric::HashWords({key, i, what, 1}); };
    const double part = fabric::UnitInterval(draw(0));
    arrivals[i].time = window * window_ + static_cast<TimeNs>(part * static_cast<double>(window_));
    const uint64_t other = fabric::Reduce(draw(1), endpoints_.size() - 1);
    fabric::Flow& flow = arrivals[i].flow;
    flow.source = endpoints_[source];
    flow.destination = endpoints_[other + (other >= source ? 1 : 0)];
    flow.bytes = sizes_.At(fabric::UnitInterval(draw(2)));
    flow.tag = source;
  }
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.time < b.time; });
  return arrivals;
}

// A Graph sends each host's flows when they are due.
class BackgroundTraffic::Graph : public fabric::FlowGraph {
 public:
  Graph(const BackgroundTraffic& traffic, TimeNs start)
      : traffic_(traffic), start_(start), hosts_(traffic.endpoints_.size()) {}

  void OnStart(fabric::FlowSink& sink) override {
    origin_ = sink.Now();
    for (size_t host = 0; host < hosts_.size(); ++host) {
      hosts_[host].window = start_ / traffic_.window_;
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
    std::vector<Arrival> arrivals;  // those of the window
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
  TimeNs origin_ = 0;  // the engine's time at the start
  std::vector<Host> hosts_;
};

std::unique_ptr<fabric::FlowGraph> BackgroundTraffic::From(TimeNs start) const {
  return std::make_unique<Graph>(*this, start);
}

}  // namespace legacy
