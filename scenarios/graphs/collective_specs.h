// These say what a collective of a trace is on our fabrics, and what of ours no trace can say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ns3-module/fabric/collective/collective.h"
#include "scenarios/graphs/trace_node.h"

namespace legacy::graphs {

// Returns Chakra's type that is nearest to an algorithm: all-reduce for sums, ...
CollectiveType TypeOf(fabric::CollectiveAlgorithm algorithm);

// Returns a spec without its members and bytes, which traces say, as bytes; "" where its algorithm
// says the rest.
std::string SpecBytes(const fabric::CollectiveSpec& spec);
// Reads them. Throws Error on what SpecBytes would not have written.
fabric::CollectiveSpec ReadSpec(const std::string& algorithm, const std::string& bytes);

// Returns the pairs of messages by which members send `bytes` to the root, as in gathers and
// reductions, or the root sends parts of its bytes to all (scatters).
std::vector<int64_t> PairsToRoot(const std::vector<int64_t>& bytes, int root);
std::vector<int64_t> PairsFromRoot(int64_t bytes, int members, int root);
// The most members of such collectives, whose pairs are listed.
inline constexpr int kMostPaired = 2048;

}  // namespace legacy::graphs
