#include "trainer/clock/step_work.h"

#include <algorithm>
#include <cassert>

namespace legacy {
namespace {

bool SameStructure(const BucketWork& a, const BucketWork& b) {
  return std::equal(a.calls.begin(), a.calls.end(), b.calls.begin(), b.calls.end(),
                    [](const SentCall& x, const SentCall& y) {
                      return x.collective == y.collective && x.reduction == y.reduction &&
                             x.root == y.root && x.pull.has_value() == y.pull.has_value() &&
                             x.served.size() == y.served.size() &&
                             x.pair_bytes.size() == y.pair_bytes.size() &&
                             x.hops.has_value() == y.hops.has_value() && x.blocks == y.blocks &&
                             x.owned.has_value() == y.owned.has_value() &&
                             (!x.owned || (x.owned->bytes.size() == y.owned->bytes.size() &&
                                           x.owned->group == y.owned->group &&
                                           x.owned->stride == y.owned->stride)) &&
                             (!x.hops || x.hops->order == y.hops->order);
                    });
}

void AddSizes(std::span<const int64_t> sizes, std::vector<int64_t>& total) {
  assert(sizes.size() == total.size());
  for (size_t i = 0; i < sizes.size(); ++i) total[i] += sizes[i];
}

// Slices of the same number travel together, with a header for each unit.
void AddHops(const Hops& hops, Hops& total) {
  for (size_t s = 0; s < hops.slices.size(); ++s) {
    if (s == total.slices.size()) {
      total.slices.push_back(hops.slices[s]);
      continue;
    }
    AddSizes(hops.slices[s].payload, total.slices[s].payload);
    AddSizes(hops.slices[s].headers, total.slices[s].headers);
  }
  JoinWork(hops.work, total.work);
}

void AddCall(const SentCall& call, SentCall& total) {
  assert(call.bytes.size() == total.bytes.size());
  for (size_t w = 0; w < call.bytes.size(); ++w) total.bytes[w] += call.bytes[w];
  for (size_t p = 0; p < call.pair_bytes.size(); ++p) total.pair_bytes[p] += call.pair_bytes[p];
  JoinWork(call.encode, total.encode);
  JoinWork(call.decode, total.decode);
  JoinWork(call.serve, total.serve);
  if (call.pull) *total.pull += *call.pull;
  for (size_t s = 0; s < call.served.size(); ++s) {
    total.served[s].sent += call.served[s].sent;
    total.served[s].answered += call.served[s].answered;
  }
  if (call.hops) AddHops(*call.hops, *total.hops);
  if (call.owned) AddSizes(call.owned->bytes, total.owned->bytes);
}

}  // namespace

bool StepWork::TakesPart(int worker) const {
  return active_workers.empty() ||
         std::binary_search(active_workers.begin(), active_workers.end(), worker);
}

int64_t StepWork::ActiveWorkers() const {
  return active_workers.empty() ? workers : static_cast<int64_t>(active_workers.size());
}

int64_t StepWork::MessageBytes(int worker) const {
  int64_t bytes = 0;
  for (const BucketWork& bucket : buckets) {
    for (const SentCall& call : bucket.calls) bytes += call.bytes[worker];
  }
  return bytes;
}

std::vector<BucketWork> MergeUnits(std::span<const BucketWork> units) {
  std::vector<BucketWork> groups;
  for (const BucketWork& unit : units) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const BucketWork& other) {
      return SameStructure(unit, other);
    });
    if (group == groups.end()) {
      groups.push_back(unit);
      continue;
    }
    group->layers.insert(group->layers.end(), unit.layers.begin(), unit.layers.end());
    group->elements += unit.elements;
    for (size_t r = 0; r < unit.calls.size(); ++r) AddCall(unit.calls[r], group->calls[r]);
  }
  return groups;
}

}  // namespace legacy
