#include "scenarios/network/contention.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace legacy {
namespace {
using Connection = std::tuple<int, int, uint16_t>;  // endpoints, lane

struct Change {
  TimeNs time = 0;
  int step = 0;  // -1: a flow arrives; 1: a flow starts
  Connection connection;

  bool operator<(const Change& other) const {
    return time != other.time ? time < other.time : step < other.step;
  }
};

// Returns the time during which two or more connections use the link.
TimeNs SharedTime(std::vector<Change> changes) {
  std::sort(changes.begin(), changes.end());
  std::map<Connection, int> active;
  TimeNs shared = 0;
  TimeNs last = 0;
  for (const Change& change : changes) {
    if (active.size() > 1) shared += change.time - last;
    last = change.time;
    int& flows = active[change.connection];
    flows += change.step;
    if (flows == 0) active.erase(change.connection);
  }
  return shared;
}

// Returns the links that a flow takes, over all connections that share it.
std::set<fabric::DirectedLink> LinksOf(const fabric::Flow& flow, const Network& network) {
  std::set<fabric::DirectedLink> links;
  for (int part = 0; part < network.stripes->Of(flow); ++part) {
    const auto [from, to, id] = network.connections->Of(flow, network.stripes->LaneOf(flow, part));
    for (const fabric::LinkShare& hop : network.topology.Shares(from, to, id)) {
      links.insert(hop.link);
    }
  }
  return links;
}

}  // namespace

double ContendedFraction(const std::vector<RecordedFlow>& flows, const Network& network) {
  std::map<fabric::DirectedLink, std::vector<Change>> changes;
  TimeNs first = kNever;
  TimeNs last = 0;
  for (const RecordedFlow& one : flows) {
    if (one.start == one.end) continue;
    const Connection connection{one.flow.source, one.flow.destination, one.flow.lane};
    for (const fabric::DirectedLink link : LinksOf(one.flow, network)) {
      changes[link].push_back({one.start, 1, connection});
      changes[link].push_back({one.end, -1, connection});
    }
    first = std::min(first, one.start);
    last = std::max(last, one.end);
  }
  if (last <= first) return 0;
  TimeNs longest = 0;
  for (auto& [link, list] : changes) longest = std::max(longest, SharedTime(std::move(list)));
  return static_cast<double>(longest) / static_cast<double>(last - first);
}

}  // namespace legacy
