#include "trainer/step_work.h"

#include <algorithm>
#include <cassert>

namespace legacy {
namespace {

bool SameStructure(const BucketWork& a, const BucketWork& b) {
  return std::equal(a.rounds.begin(), a.rounds.end(), b.rounds.begin(), b.rounds.end(),
                    [](const RoundWork& x, const RoundWork& y) {
                      return x.primitive == y.primitive && x.reduction == y.reduction &&
                             x.root == y.root;
                    });
}

void AddRound(const RoundWork& round, RoundWork& total) {
  assert(round.bytes.size() == total.bytes.size());
  for (size_t w = 0; w < round.bytes.size(); ++w) total.bytes[w] += round.bytes[w];
  for (const Work& work : round.encode) AddWork(work, total.encode);
  for (const Work& work : round.decode) AddWork(work, total.decode);
}

}  // namespace

RoundWork WorkOf(const Round& round, int workers) {
  RoundWork work;
  work.primitive = round.primitive;
  work.reduction = round.reduction;
  work.root = round.root;
  work.bytes.resize(static_cast<size_t>(workers));
  for (const Work& entry : round.encode) AddWork(entry, work.encode);
  for (const Work& entry : round.decode) AddWork(entry, work.decode);
  return work;
}

bool StepWork::TakesPart(int worker) const {
  return participants.empty() ||
         std::binary_search(participants.begin(), participants.end(), worker);
}

int64_t StepWork::Participants() const {
  return participants.empty() ? workers : static_cast<int64_t>(participants.size());
}

int64_t StepWork::MessageBytes(int worker) const {
  int64_t bytes = 0;
  for (const BucketWork& bucket : buckets) {
    for (const RoundWork& round : bucket.rounds) bytes += round.bytes[worker];
  }
  return bytes;
}

void AddWork(const Work& work, std::vector<Work>& total) {
  if (work.kernel.empty()) return;
  for (Work& entry : total) {
    if (entry.kernel != work.kernel) continue;
    entry.elements += work.elements;
    entry.launches += work.launches;
    return;
  }
  total.push_back(work);
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
    for (size_t r = 0; r < unit.rounds.size(); ++r) AddRound(unit.rounds[r], group->rounds[r]);
  }
  return groups;
}

}  // namespace legacy
