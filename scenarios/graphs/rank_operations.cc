#include "scenarios/graphs/rank_operations.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/error.h"
#include "scenarios/graphs/chakra_reader.h"

namespace legacy::graphs {
namespace {

// Sorts a list, and leaves each number in it once.
void MakeSet(std::vector<int>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace

void RankOperations::Begin(int rank, std::string file, bool control) {
  *this = RankOperations();
  rank_ = rank;
  control_ = control;
  file_ = std::move(file);
}

void RankOperations::Add(const TraceNode& node, fabric::StepOperation operation) {
  if (Count() == INT32_MAX) throw Error::Refusal("too many nodes");
  const int number = static_cast<int>(Count());
  const auto add = [&](const std::vector<uint64_t>& ids, bool start) {
    for (const uint64_t id : ids) {
      if (id == node.id) throw Error::Refusal(NodeText(node) + ": waits for itself");
      waits_.push_back({id, number, start});
    }
  };
  add(node.data_after, false);
  add(node.after_start, true);
  if (control_) {
    add(node.control_after, false);
  } else {
    dropped_ += std::ssize(node.control_after);
  }
  ids_.push_back(node.id);
  operations_.push_back(std::move(operation));
}

std::string RankOperations::NodeAt(int64_t node) const {
  return file_ + ": " + NodeText(ids_[node], operations_[node].name);
}

std::string RankOperations::Where(int64_t place) const { return NodeAt(place); }

// Indexes the ids of nodes, unless they count from that of the first node.
void RankOperations::IndexIds() {
  bool counts = true;
  for (size_t i = 0; i < ids_.size() && counts; ++i) counts = ids_[i] == ids_[0] + i;
  if (counts) return;
  for (size_t i = 0; i < ids_.size(); ++i) index_.emplace_back(ids_[i], static_cast<int>(i));
  std::ranges::sort(index_);
  const auto twice = std::ranges::adjacent_find(
      index_, [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != index_.end()) {
    throw Error::Refusal(NodeAt((twice + 1)->second) + ": another node has this id");
  }
}

// Returns the node with that id; -1: there is none.
int RankOperations::Find(uint64_t id) const {
  if (index_.empty()) {
    return !ids_.empty() && id >= ids_[0] && id - ids_[0] < ids_.size()
               ? static_cast<int>(id - ids_[0])
               : -1;
  }
  const auto found = std::ranges::lower_bound(index_, std::pair<uint64_t, int>(id, INT32_MIN));
  return found == index_.end() || found->first != id ? -1 : found->second;
}

void RankOperations::Resolve() {
  for (const Wait& wait : waits_) {
    const int before = Find(wait.id);
    if (before < 0) {
      throw Error::Refusal(NodeAt(wait.node) + ": waits for node " + std::to_string(wait.id) +
                           ", which is not in the file");
    }
    if (wait.start) {
      starts_.emplace_back(wait.node, before);
    } else {
      operations_[wait.node].after.push_back(before);
    }
  }
  waits_ = {};
  for (fabric::StepOperation& operation : operations_) MakeSet(operation.after);
}

// A node that waits for the start of another waits for what that one waits for. Those whose start
// is waited for come first.
void RankOperations::InheritStarts() {
  if (starts_.empty()) return;
  std::vector<int> waiting(operations_.size(), 0);
  std::vector<std::pair<int, int>> followers;  // a node, and one that waits for its start
  for (const auto& [node, before] : starts_) {
    followers.emplace_back(before, node);
    ++waiting[node];
  }
  std::ranges::sort(followers);
  std::vector<int> ready;
  for (const auto& [node, follower] : followers) {
    if (waiting[node] == 0 && (ready.empty() || ready.back() != node)) ready.push_back(node);
  }
  size_t left = starts_.size();
  while (!ready.empty()) {
    const int node = ready.back();
    ready.pop_back();
    auto link = std::ranges::lower_bound(followers, std::pair<int, int>(node, INT32_MIN));
    for (; link != followers.end() && link->first == node; ++link, --left) {
      std::vector<int>& after = operations_[link->second].after;
      after.insert(after.end(), operations_[node].after.begin(), operations_[node].after.end());
      MakeSet(after);
      if (--waiting[link->second] == 0) ready.push_back(link->second);
    }
  }
  if (left == 0) return;
  const auto circular = std::ranges::find_if(waiting, [](int count) { return count > 0; });
  throw Error::Refusal(NodeAt(circular - waiting.begin()) +
                       ": waits, over others, for its own start");
}

// Throws Error with a circle of nodes that wait for each other; `waiting` counts what each still
// waits for.
void RankOperations::ThrowCircle(const std::vector<int>& waiting) const {
  std::vector<int> seen(waiting.size(), -1);
  int node = static_cast<int>(std::ranges::find_if(waiting, [](int count) { return count > 0; }) -
                              waiting.begin());
  int steps = 0;
  while (seen[node] < 0) {
    seen[node] = steps++;
    node = *std::ranges::find_if(operations_[node].after,
                                 [&](int before) { return waiting[before] > 0; });
  }
  constexpr int kMostShown = 8;
  std::string text = NodeText(ids_[node], operations_[node].name);
  const int first = node;
  int shown = 0;
  do {
    node = *std::ranges::find_if(operations_[node].after,
                                 [&](int before) { return waiting[before] > 0; });
    if (++shown == kMostShown && node != first) text += ", ...";
    if (shown < kMostShown || node == first)
      text += ", " + NodeText(ids_[node], operations_[node].name);
  } while (node != first);
  throw Error::Refusal(file_ + ": nodes wait for each other in a circle: " + text);
}

void RankOperations::Sort() {
  const int count = static_cast<int>(Count());
  bool sorted = true;
  for (int i = 0; i < count && sorted; ++i) {
    const std::vector<int>& after = operations_[i].after;
    sorted = after.empty() || after.back() < i;
  }
  if (sorted) return;
  std::vector<int> waiting(count, 0);
  std::vector<std::vector<int>> following(count);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < count; ++i) {
    waiting[i] = static_cast<int>(operations_[i].after.size());
    for (const int before : operations_[i].after) following[before].push_back(i);
    if (waiting[i] == 0) ready.push(i);
  }
  places_.assign(count, -1);
  int64_t next = 0;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    places_[node] = next++;
    for (const int after : following[node]) {
      if (--waiting[after] == 0) ready.push(after);
    }
  }
  if (next < count) ThrowCircle(waiting);
  std::vector<fabric::StepOperation> ordered(count);
  std::vector<uint64_t> ids(count);
  for (int i = 0; i < count; ++i) {
    for (int& before : operations_[i].after) before = static_cast<int>(places_[before]);
    std::ranges::sort(operations_[i].after);
    ids[places_[i]] = ids_[i];
    ordered[places_[i]] = std::move(operations_[i]);
  }
  operations_ = std::move(ordered);
  ids_ = std::move(ids);
}

void RankOperations::Finish() {
  IndexIds();
  Resolve();
  InheritStarts();
  Sort();
  index_ = {};
}

}  // namespace legacy::graphs
