#include "trainer/federated/fragments.h"

#include <string>

#include "base/error.h"

namespace legacy {
namespace {

// Returns the position after the last layer of each fragment: it has the layers whose middle lies
// in its part of the elements, at least one.
std::vector<size_t> EndsOf(std::span<const Unit> layers, size_t fragments) {
  const auto numel = static_cast<double>(layers.back().offset + layers.back().numel);
  std::vector<size_t> ends;
  size_t end = 0;
  for (size_t f = 1; f <= fragments; ++f) {
    const double until = numel * static_cast<double>(f) / static_cast<double>(fragments);
    const size_t most = layers.size() - (fragments - f);  // one is left for each of the others
    const auto middle = [&](const Unit& layer) {
      return static_cast<double>(layer.offset) + static_cast<double>(layer.numel) / 2;
    };
    ++end;
    while (end < most && (f == fragments || middle(layers[end]) <= until)) ++end;
    ends.push_back(end);
  }
  return ends;
}

}  // namespace

std::vector<Fragment> CutFragments(std::span<const Unit> layers, int fragments, Scope scope,
                                   const BucketOptions& buckets) {
  const auto count = static_cast<size_t>(fragments);
  if (fragments < 1 || count > layers.size()) {
    throw Error("fragments", std::to_string(fragments),
                "1 to " + std::to_string(layers.size()) + ", the layers of the model");
  }
  std::vector<Fragment> cut;
  uint32_t units = 0;
  size_t first = 0;
  for (const size_t end : EndsOf(layers, count)) {
    Fragment& fragment = cut.emplace_back();
    fragment.offset = layers[first].offset;
    fragment.numel = layers[end - 1].offset + layers[end - 1].numel - fragment.offset;
    std::vector<Unit> own(layers.begin() + static_cast<std::ptrdiff_t>(first),
                          layers.begin() + static_cast<std::ptrdiff_t>(end));
    for (Unit& layer : own) layer.offset -= fragment.offset;
    fragment.plan = PlanUnits(own, scope, buckets);
    for (Unit& unit : fragment.plan.units) {
      unit.offset += fragment.offset;
      unit.id = units++;
    }
    for (std::vector<int>& members : fragment.plan.unit_layers) {
      for (int& layer : members) layer += static_cast<int>(first);
    }
    first = end;
  }
  return cut;
}

std::vector<FragmentTurn> TurnsOf(int fragments, int64_t overlap, int64_t steps) {
  const int64_t shortest = steps / fragments;
  if (shortest < 1) {
    throw Error("fragments", std::to_string(fragments),
                "at most the local steps of a version, " + std::to_string(steps));
  }
  if (overlap >= shortest) {
    throw Error("overlap", std::to_string(overlap),
                "below the local steps of a fragment's turn, " + std::to_string(shortest));
  }
  std::vector<FragmentTurn> turns;
  for (int64_t f = 0; f < fragments; ++f) {
    const int64_t end = (f + 1) * steps / fragments;
    turns.push_back({f * steps / fragments, end - overlap, end});
  }
  return turns;
}

}  // namespace legacy
