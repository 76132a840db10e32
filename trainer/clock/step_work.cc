#include "trainer/clock/step_work.h"

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
  JoinWork(round.encode, total.encode);
  JoinWork(round.decode, total.decode);
}

}  // namespace

RoundWork WorkOf(const Round& round, int workers) {
  RoundWork work;
  work.primitive = round.primitive;
  work.reduction = round.reduction;
  work.root = round.root;
  work.bytes.resize(static_cast<size_t>(workers));
  AddWork(round.encode, work.encode);
  AddWork(round.decode, work.decode);
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
