// Partitions as lists of samples, and what rules make such lists with: draws, sizes, and dealing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "trainer/federated/partition.h"

namespace legacy::partitions {

using Made = std::unique_ptr<Partition>;
// The samples of each client.
using Lists = std::vector<std::vector<int64_t>>;

// Returns the partition that holds the lists.
Made Keep(Lists lists);
// Returns the partition of which each client draws `size` of the samples, with replacement, when it
// is asked for them.
Made DrawEach(int64_t clients, int64_t size, int64_t samples, uint64_t seed);

// Returns the draws of a try at a partition; `part` tells those of classes or clients apart.
inline RandomStream Draws(uint64_t seed, uint64_t attempt, int64_t part) {
  return RandomStream({.seed = seed,
                       .step = attempt,
                       .worker = static_cast<uint32_t>(part),
                       .purpose = Purpose::kPartition});
}
// The part of draws that are about no class or client.
inline constexpr int64_t kWhole = -1;

// Shuffles values (Fisher, Yates).
template <typename Value>
void Shuffle(std::vector<Value>& values, RandomStream& random) {
  for (size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random.Below(static_cast<uint32_t>(i))]);
  }
}

// Returns [0, count).
std::vector<int64_t> Counting(int64_t count);
// Returns the samples of each class, ascending. Throws Error naming the rule where there are no
// classes.
Lists ByClass(const SampleLabels& data, const std::string& rule);

// Returns `parts` sizes that differ by at most one and sum to `total`, the larger ones first.
std::vector<int64_t> EvenSizes(int64_t total, int64_t parts);
// Returns where shares that sum to 1 cut `total`: the sizes between floors of cumulated shares.
std::vector<int64_t> CutSizes(const std::vector<double>& shares, int64_t total);
// Gives consecutive pieces of `from`, of these sizes, to the lists of the same numbers.
void Deal(const std::vector<int64_t>& from, const std::vector<int64_t>& sizes, Lists& to);

}  // namespace legacy::partitions
