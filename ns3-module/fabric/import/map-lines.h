// The lines of a map, of which those between the same two nodes become one link. Internal to
// fabric/.
#pragma once

#include "network-map.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace legacy::fabric
{

/// A MergedLine is all lines between two nodes, in the direction of the first.
struct MergedLine
{
    int a = 0;
    int b = 0;
    // From a to b, and from b to a:
    std::array<int64_t, 2> eachWay{}; ///< sums of the rates of lines that are undirected
    std::array<int64_t, 2> oneWay{};  ///< sums of those of directed ones
    std::array<int64_t, 2> queueBytes{{-1, -1}};
    std::array<double, 2> errorRate{};
    std::array<double, 2> usdPerGb{};
    std::optional<TimeNs> delay; ///< the shortest that a line has
    std::optional<double> km;    ///< likewise

    /// Returns the rates. A direction without a directed line has the rate of the other's.
    std::array<int64_t, 2> Rates() const;
};

/// Merges all lines between two nodes into one, in the order of the first of each. Lines of nodes
/// that are not `kept` and lines from a node to itself are left out; lines without a rate have
/// `defaultRate`, bit/s. Throws Error, with file and line, on rates that are too high.
std::vector<MergedLine> MergeMapLines(const NetworkMap& map,
                                      const std::vector<char>& kept,
                                      int64_t defaultRate,
                                      ImportReport& report);

} // namespace legacy::fabric
