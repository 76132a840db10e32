#include "scenarios/network/endless.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/units.h"
#include "scenarios/network/fairness.h"

namespace legacy {
namespace {

// A flow's share of the NIC carries at least this many messages in a window, unless a message would
// be smaller than a segment.
constexpr int64_t kMessagesInWindow = 32;

// A Path has the limits of a flow on its route.
struct Path {
  int64_t rate = INT64_MAX;  // bits per second of the slowest link
  TimeNs round_trip = 0;     // delays of the links, there and back
};

Path PathOf(const FlowRequest& flow, const Network& network) {
  const fabric::Flow sent{
      .source = flow.source, .destination = flow.destination, .lane = flow.lane};
  const auto [from, to, id] = network.connections->Of(sent, network.stripes->LaneOf(sent, 0));
  Path path;
  for (const fabric::DirectedLink hop : network.topology.Route(from, to, id)) {
    const fabric::Link& link = network.topology.LinkOf(hop);
    path.rate =
        std::min(path.rate, network.topology.PortOf(hop).rateBps * network.stripes->PlanesOf(sent));
    path.round_trip = Later(path.round_trip, Later(link.delay, link.delay));
  }
  return path;
}

// Returns, for each flow, the number of flows on the busier of its two NICs.
std::vector<int64_t> Sharing(const std::vector<FlowRequest>& flows) {
  std::map<int, int64_t> from;
  std::map<int, int64_t> to;
  for (const FlowRequest& flow : flows) {
    ++from[flow.source];
    ++to[flow.destination];
  }
  std::vector<int64_t> sharing;
  for (const FlowRequest& flow : flows) {
    sharing.push_back(std::max(from[flow.source], to[flow.destination]));
  }
  return sharing;
}

// Returns the bytes that `rate` bits per second, shared by `sharing` flows, carry in `time`.
double BytesIn(TimeNs time, int64_t rate, int64_t sharing) {
  return static_cast<double>(rate) / 8e9 * static_cast<double>(time) / static_cast<double>(sharing);
}

}  // namespace

double ThroughputWindow::Total() const {
  double total = 0;
  for (size_t f = 0; f < rates.size(); ++f) total += active[f] ? rates[f] : 0;
  return total;
}

double ThroughputWindow::Least() const {
  double least = INFINITY;
  for (size_t f = 0; f < rates.size(); ++f) least = active[f] ? std::min(least, rates[f]) : least;
  return std::isfinite(least) ? least : 0;
}

double ThroughputWindow::Most() const {
  double most = 0;
  for (size_t f = 0; f < rates.size(); ++f) most = active[f] ? std::max(most, rates[f]) : most;
  return most;
}

double ThroughputWindow::Fairness() const {
  std::vector<double> shares;
  for (size_t f = 0; f < rates.size(); ++f) {
    if (active[f]) shares.push_back(rates[f]);
  }
  return JainIndex(shares);
}

std::vector<FlowRequest> WithExpectedBytes(std::vector<FlowRequest> flows, TimeNs duration,
                                           const Network& network, const std::string& where) {
  const std::vector<int64_t> sharing = Sharing(flows);
  for (size_t f = 0; f < flows.size(); ++f) {
    if (flows[f].start >= duration) {
      throw Error(where + ": start of flow " + std::to_string(f), FormatTime(flows[f].start),
                  "a time before the end of the run, " + FormatTime(duration));
    }
    const TimeNs time = duration - flows[f].start;
    flows[f].bytes = static_cast<int64_t>(
        std::min(9e18, BytesIn(time, PathOf(flows[f], network).rate, sharing[f])));
  }
  return flows;
}

EndlessGraph::EndlessGraph(const std::vector<FlowRequest>& flows, const Network& network,
                           TimeNs duration, TimeNs window)
    : flows_(flows), duration_(duration), window_(window), states_(flows.size()) {
  const fabric::Transport& transport = network.request.transport;
  const std::vector<int64_t> sharing = Sharing(flows);
  for (size_t f = 0; f < flows.size(); ++f) {
    const Path path = PathOf(flows[f], network);
    // These are whole segments, so that a row of messages has no more headers than a stream.
    const double segments = BytesIn(window, path.rate, sharing[f] * kMessagesInWindow) /
                            static_cast<double>(transport.segmentBytes);
    State& state = states_[f];
    state.message = transport.segmentBytes *
                    std::clamp<int64_t>(static_cast<int64_t>(segments), 1, int64_t{1} << 32);
    state.queued = 2 + 2 * transport.SocketBuffer(path.rate, path.round_trip) / state.message;
    state.bytes.assign(static_cast<size_t>((duration + window - 1) / window), 0);
  }
}

void EndlessGraph::OnStart(fabric::FlowSink& sink) {
  for (size_t f = 0; f < flows_.size(); ++f) sink.Wake(flows_[f].start, f);
}

void EndlessGraph::OnWake(uint64_t flow, fabric::FlowSink& sink) {
  const FlowRequest& request = flows_[flow];
  State& state = states_[flow];
  state.since = sink.Now();
  for (int64_t i = 0; i < state.queued; ++i) {
    sink.Send({request.source, request.destination, state.message, flow, true, request.lane});
  }
}

void EndlessGraph::OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) {
  State& state = states_[flow.tag];
  const TimeNs now = sink.Now();
  const double rate =
      static_cast<double>(flow.bytes) / static_cast<double>(std::max<TimeNs>(1, now - state.since));
  TimeNs from = std::min(state.since, now - 1);  // what arrives at once counts for a nanosecond
  for (size_t w = static_cast<size_t>(from / window_); from < now && w < state.bytes.size(); ++w) {
    const TimeNs end = std::min({now, duration_, static_cast<TimeNs>(w + 1) * window_});
    state.bytes[w] += rate * static_cast<double>(std::max<TimeNs>(0, end - from));
    from = static_cast<TimeNs>(w + 1) * window_;
  }
  state.since = now;
  sink.Send(flow);
}

std::vector<ThroughputWindow> EndlessGraph::Windows() const {
  std::vector<ThroughputWindow> windows;
  for (TimeNs start = 0; start < duration_; start += window_) {
    ThroughputWindow window;
    window.start = start;
    window.end = std::min(duration_, start + window_);
    for (size_t f = 0; f < flows_.size(); ++f) {
      const double seconds = InSeconds(window.end - start);
      window.rates.push_back(8 * states_[f].bytes[windows.size()] / seconds);
      window.active.push_back(flows_[f].start <= start);
    }
    windows.push_back(std::move(window));
  }
  return windows;
}

}  // namespace legacy
