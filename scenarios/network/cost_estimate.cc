#include "scenarios/network/cost_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/programs/progress_line.h"
#include "ns3-module/fabric/roce/roce-settings.h"
#include "ns3-module/fabric/step/last-collective.h"

namespace legacy {
namespace {

// The number of packet transmissions per second of wall time that the packet engine reaches with
// TCP: 2.9 events each, at 5.8e5 events per second (legacy-ring-example, one core of an AMD EPYC).
// Other machines differ in proportion to their speed.
constexpr double kTransmissionsPerSecond = 2e5;
// Additional seconds on the same processor. ns-3 searches all sockets of a host for the socket of
// each packet; opening a connection does so several times.
constexpr double kSecondsOfSocket = 0.2e-6;
constexpr double kSecondsOfOpening = 1e-6;
// For each segment that it sends, TcpTxBuffer::NextSeg iterates over those in flight. More than
// kCachedSegments of them do not fit into the processor's cache.
constexpr double kSecondsOfSegment = 7.35e-9;
constexpr double kCachedSegments = 16'000;

// The same for segments of our own TCP: 1.6 events each, at 10.9e6 events per second
// (legacy-bench-packet), and what it takes to open a connection. The state of many connections does
// not fit into the cache, but stays there while the first segments of a message leave together.
constexpr double kSegmentTransmissionsPerSecond = 6.7e6;
constexpr double kSecondsOfConnection = 1.5e-6;
constexpr double kCachedMessage = 32;  // segments

// The same for RoCEv2: 1.7 events each, at 10e6 events per second (legacy-bench-roce: a ring
// all-reduce of 44.7 MB among 16 hosts of a k=4 fat-tree, the same processor). The state of many
// queue pairs does not fit into the cache.
constexpr double kRoceTransmissionsPerSecond = 5.8e6;
constexpr double kSecondsOfQueuePair = 4e-6;
constexpr double kCachedQueuePairs = 5'000;
constexpr double kMostSlowdown = 6;
// A train costs the events of one frame, plus this part of them for each of its frames.
constexpr double kPartOfTrain = 0.06;

double TransmissionsPerSecond(const fabric::Transport& transport) {
  if (transport.roce) return kRoceTransmissionsPerSecond;
  return transport.HasFrames() ? kSegmentTransmissionsPerSecond : kTransmissionsPerSecond;
}

// Returns how often a step is simulated: an earlier step opens the connections of TCP.
int RunsOf(const fabric::Transport& transport) {
  return transport.WarmsUp() && !transport.roce ? 2 : 1;
}

// Returns whether every worker sends to every other one.
bool IsBetweenAllPairs(fabric::CollectiveAlgorithm algorithm) {
  using Algorithm = fabric::CollectiveAlgorithm;
  return algorithm == Algorithm::DirectAllReduce || algorithm == Algorithm::DirectAllGather ||
         algorithm == Algorithm::AllToAll || algorithm == Algorithm::AllToAllV ||
         algorithm == Algorithm::ScatterReduceAllGather || algorithm == Algorithm::BlockSparse;
}

// Returns whether workers send to, and receive from, endpoints that are not workers.
bool HasServers(fabric::CollectiveAlgorithm algorithm) {
  using Algorithm = fabric::CollectiveAlgorithm;
  return algorithm == Algorithm::ParameterServer ||
         algorithm == Algorithm::ShardedParameterServer ||
         algorithm == Algorithm::InNetworkAllReduce || algorithm == Algorithm::NvlsAllReduce;
}

double Sum(const std::vector<int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), 0.0);
}

// Returns the number of segments of `bytes`, plus the number of ACKs that answer them.
double PacketsOf(double bytes, const fabric::Transport& transport) {
  const double segments = std::ceil(bytes / transport.segmentBytes);
  return segments * (1 + 1.0 / transport.segmentsPerAck);
}

// The number of segments in flight when one is sent: its mean over a connection's segments, and a
// mean that gives more weight to many in flight, which counts for what fits into the cache.
struct Flying {
  double mean = 0;
  double cached = 0;
};

// Returns these for a connection that sends `segments` over a path that holds `most`. A warm
// connection has them in flight from the beginning. Slow start doubles the window until it is
// `most`, or half of all segments: for windows w that double up to W, sum w^2 / sum w is 2/3 W, and
// sum w^3 / sum w^2 is 6/7 W.
Flying FlyingOf(double segments, double most, bool warm) {
  if (warm) return {std::min(segments, most), std::min(segments, most)};
  const double last = std::min(segments / 2, most);
  const double part = std::min(1.0, 2 * last / segments);  // of the segments, sent in slow start
  return {last * (1 - part / 3), last * (1 - part / 7)};
}

}  // namespace

CostEstimate::Path CostEstimate::PathOf(int source, int destination) const {
  const fabric::Topology& topology = network_.topology;
  const fabric::Transport& transport = network_.request.transport;
  const auto route =
      topology.Route(network_.placement.NodeOf(source), network_.placement.NodeOf(destination), 0);
  int64_t slowest = std::numeric_limits<int64_t>::max();
  TimeNs round_trip = 0;
  for (const fabric::DirectedLink link : route) {
    slowest = std::min(slowest, topology.PortOf(link).rateBps);
    round_trip += 2 * topology.LinkOf(link).delay;
  }
  const double seconds = InSeconds(round_trip);
  return {static_cast<double>(route.size()),
          static_cast<double>(slowest) / 8 * seconds / transport.segmentBytes};
}

// Averages between neighbours of the ring, or between workers at up to 16 distances if all pairs
// send.
CostEstimate::Path CostEstimate::MeanPath(fabric::CollectiveAlgorithm algorithm) const {
  constexpr int kDistances = 16;
  constexpr int kStride = 37;  // a prime, so that distances are not all multiples of a node's size
  const int workers = network_.placement.Workers();
  const int distances = IsBetweenAllPairs(algorithm) ? std::clamp(workers - 1, 1, kDistances) : 1;
  Path mean;
  for (int i = 0; i < distances; ++i) {
    const int distance = 1 + i * kStride % std::max(1, workers - 1);
    for (int w = 0; w < workers; ++w) {
      const Path path = PathOf(w, (w + distance) % workers);
      mean.links += path.links / workers / distances;
      mean.segments = std::max(mean.segments, path.segments);
    }
  }
  return mean;
}

CostEstimate::Messages CostEstimate::MessagesOf(const fabric::CollectiveSpec& spec) const {
  const auto workers = static_cast<double>(spec.bytes.size());
  const bool all_pairs = IsBetweenAllPairs(spec.algorithm);
  const double peers =
      (all_pairs ? std::max(1.0, workers - 1) : 1) * network_.request.transport.streams;
  double bytes = Sum(fabric::BytesSent(spec));
  if (HasServers(spec.algorithm) || fabric::HasServers(spec))
    bytes += Sum(fabric::BytesReceived(spec));
  Messages messages;
  messages.count = fabric::EstimatedFlows(spec);
  messages.bytes = messages.count > 0 ? bytes / messages.count : 0;
  messages.endpoints = 2 * peers;
  messages.at_once = peers;
  messages.connections = std::min(workers * peers, messages.count);
  return messages;
}

double CostEstimate::TcpSeconds(const Messages& messages, const Path& path) const {
  if (messages.count == 0) return 0;
  const fabric::Transport& transport = network_.request.transport;
  const double segments = messages.count * messages.bytes / transport.segmentBytes;
  const Flying flying = FlyingOf(segments / messages.connections, path.segments / messages.at_once,
                                 transport.WarmsUp());
  const double misses = std::max(1.0, flying.cached * messages.connections / kCachedSegments);
  return messages.count * PacketsOf(messages.bytes, transport) * messages.endpoints *
             kSecondsOfSocket +
         segments * flying.mean * kSecondsOfSegment * misses;
}

void CostEstimate::Add(const Messages& messages, const Path& path, double runs) {
  const fabric::Transport& transport = network_.request.transport;
  const double packets = messages.count * PacketsOf(messages.bytes, transport) * path.links * runs;
  packets_ += packets;
  if (!transport.HasFrames()) {
    beyond_ += runs * TcpSeconds(messages, path);
    return;
  }
  // What is ready at a host takes turns frame by frame, so few trains form if there is much.
  const double longest = transport.roce ? transport.roce->train : transport.train;
  const double train = messages.at_once > 1 ? 1 : longest;
  const double cold =
      transport.roce ? 1 : std::min(1.0, messages.bytes / transport.segmentBytes / kCachedMessage);
  const double slowdown =
      std::min(kMostSlowdown, 1 + cold * messages.connections / kCachedQueuePairs);
  const double events = train > 1 ? 1 / train + kPartOfTrain : 1;
  beyond_ += packets / TransmissionsPerSecond(transport) * (events * slowdown - 1);
}

// Returns the time that it takes to open all connections.
double CostEstimate::OpeningSeconds(const Messages& messages) const {
  const fabric::Transport& transport = network_.request.transport;
  return messages.connections * (transport.roce          ? kSecondsOfQueuePair
                                 : transport.HasFrames() ? kSecondsOfConnection
                                                         : messages.endpoints * kSecondsOfOpening);
}

void CostEstimate::Add(const fabric::StepTraffic& traffic, int64_t different) {
  const double runs = static_cast<double>(different) * RunsOf(network_.request.transport);
  double opening = 0;
  std::map<fabric::CollectiveAlgorithm, Path> paths;
  fabric::LastCollective<Messages> last;
  fabric::ForEachCollective(traffic, [&](const fabric::CollectiveSpec& spec, int64_t times) {
    const Messages messages =
        last.Of(spec, [this](const fabric::CollectiveSpec& one) { return MessagesOf(one); });
    const auto [path, added] = paths.try_emplace(spec.algorithm);
    if (added) path->second = MeanPath(spec.algorithm);
    Add(messages, path->second, runs * static_cast<double>(times));
    opening = std::max(opening, OpeningSeconds(messages));
  });
  beyond_ += opening * static_cast<double>(different);
  steps_ += different;
}

void CostEstimate::AddFlow(int source, int destination, int64_t bytes) {
  const double at_source = ++endpoints_[source];
  const double at_destination = ++endpoints_[destination];
  const Messages flow = {1, static_cast<double>(bytes), std::max(at_source, at_destination),
                         at_source, 1};
  Add(flow, PathOf(source, destination), RunsOf(network_.request.transport));
  beyond_ += OpeningSeconds(flow);
}

double CostEstimate::Seconds() const {
  return beyond_ + packets_ / TransmissionsPerSecond(network_.request.transport);
}

std::string CostEstimate::Text() const {
  return fmt::format("{} different steps, {:.1f} M packet transmissions, about {} of wall time",
                     steps_, packets_ * 1e-6, WallTimeInWords(Seconds()));
}

}  // namespace legacy
