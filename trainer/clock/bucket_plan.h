// A bucket plan says which layers are compressed as one unit, and which units are sent together as
// a bucket.
//
// Buckets follow PyTorch's DistributedDataParallel (Li et al., VLDB'20, section 3.2.3): layers are
// taken in reverse order, as the backward pass completes them; a bucket is closed by the layer with
// which it reaches its size; the first bucket is small, so that sending starts early.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/parse.h"
#include "compress/unit.h"

namespace legacy {

// A Scope says what a unit of compression is: one layer, the layers of one bucket, or all layers.
enum class Scope : uint8_t { kLayer, kBucket, kModel };

inline constexpr std::array<const char*, 3> kScopeTexts = {"layer", "bucket", "model"};

// Returns the scope of that name. Throws Error naming `key` on any other.
inline Scope ParseScope(const std::string& text, const std::string& key) {
  return ParseChoice<Scope>(text, key, kScopeTexts);
}

// BucketOptions are the sizes at which buckets close.
struct BucketOptions {
  int64_t first_bytes = int64_t{1} << 20;  // first bucket's size in bytes of dense fp32 gradient
  int64_t bucket_bytes = int64_t{25} << 20;
};

// A Bucket is a set of units that are sent together.
struct Bucket {
  std::vector<int> units;  // positions in UnitPlan::units, descending
};

// A UnitPlan has the units and buckets of a model.
struct UnitPlan {
  std::vector<Unit> units;  // units by offset in the flat gradient, with ids 0, 1, ...
  std::vector<std::vector<int>> unit_layers;  // for each unit, positions in `layers`, ascending
  std::vector<Bucket> buckets;                // buckets in backward order; with kModel there is one
};

// Plans units and buckets. `layers` are the model's parameter tensors in order, contiguous from
// offset 0. Throws Error on bucket sizes below 1.
UnitPlan PlanUnits(std::span<const Unit> layers, Scope scope, const BucketOptions& options = {});

}  // namespace legacy
