#include "trainer/clock/bucket_plan.h"

#include <cassert>

#include "base/error.h"

namespace legacy {
namespace {

constexpr int64_t kGradientBytes = 4;  // fp32

// A Range is the layers [first, last] of one bucket. Ranges are in backward order.
struct Range {
  int first = 0;
  int last = 0;
};

std::vector<Range> CutBuckets(std::span<const Unit> layers, const BucketOptions& options) {
  std::vector<Range> ranges;
  int64_t limit = options.first_bytes;
  int64_t bytes = 0;
  int last = static_cast<int>(layers.size()) - 1;
  for (int layer = last; layer >= 0; --layer) {
    bytes += kGradientBytes * layers[layer].numel;
    if (bytes < limit && layer > 0) continue;
    ranges.push_back({layer, last});
    last = layer - 1;
    bytes = 0;
    limit = options.bucket_bytes;
  }
  return ranges;
}

Unit JoinLayers(std::span<const Unit> layers, const Range& range, uint32_t id, std::string name) {
  Unit unit;
  unit.id = id;
  unit.name = std::move(name);
  unit.offset = layers[range.first].offset;
  unit.numel = layers[range.last].offset + layers[range.last].numel - unit.offset;
  unit.shape = {unit.numel};
  return unit;
}

// Makes one unit of each range. Ids ascend with the offset, so the first bucket of the backward
// pass has the last id.
UnitPlan UnitsOfRanges(std::span<const Unit> layers, const std::vector<Range>& ranges,
                       Scope scope) {
  UnitPlan plan;
  const int count = static_cast<int>(ranges.size());
  for (int id = 0; id < count; ++id) {
    const Range& range = ranges[count - 1 - id];
    const std::string name = scope == Scope::kModel ? "model" : "bucket" + std::to_string(id);
    plan.units.push_back(JoinLayers(layers, range, id, name));
    plan.unit_layers.emplace_back();
    for (int l = range.first; l <= range.last; ++l) plan.unit_layers.back().push_back(l);
    plan.buckets.push_back({{count - 1 - id}});
  }
  return plan;
}

UnitPlan UnitsOfLayers(std::span<const Unit> layers, const std::vector<Range>& ranges) {
  UnitPlan plan;
  plan.units.assign(layers.begin(), layers.end());
  for (int layer = 0; layer < static_cast<int>(layers.size()); ++layer) {
    plan.units[layer].id = static_cast<uint32_t>(layer);
    plan.unit_layers.push_back({layer});
  }
  for (const Range& range : ranges) {
    plan.buckets.emplace_back();
    for (int l = range.last; l >= range.first; --l) plan.buckets.back().units.push_back(l);
  }
  return plan;
}

}  // namespace

UnitPlan PlanUnits(std::span<const Unit> layers, Scope scope, const BucketOptions& options) {
  if (options.bucket_bytes < 1 || options.first_bytes < 1) {
    const int64_t bad = options.bucket_bytes < 1 ? options.bucket_bytes : options.first_bytes;
    throw Error("bucket-bytes", std::to_string(bad), "at least 1");
  }
  if (layers.empty()) return {};
  if (scope == Scope::kModel) {
    return UnitsOfRanges(layers, {{0, static_cast<int>(layers.size()) - 1}}, scope);
  }
  const std::vector<Range> ranges = CutBuckets(layers, options);
  return scope == Scope::kBucket ? UnitsOfRanges(layers, ranges, scope)
                                 : UnitsOfLayers(layers, ranges);
}

}  // namespace legacy
