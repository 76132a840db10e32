// Rates that labels of lines name in words, as in the Internet Topology Zoo.
#pragma once

#include <cstdint>
#include <string_view>

namespace legacy::fabric
{

/// Returns the largest rate that a label names, in bit/s; 0 where it names none. It knows
/// * numbers with a unit: "10 Gbps", "45 Mbps DS-3", "2.5 Gbit/s", "100 megabit", "1 Gibit", "10
///   GB/s" (lines are rated in bits, whatever the case of the b); of a range such as "1-20Gbps" the
///   upper end;
/// * OC-n = n 51.84 Mbit/s, STM-n = n 155.52, E1 2.048, E3 34.368, T1 1.544, T3 and DS-3 44.736;
/// * several of either: "4x155Mbps", "2 x STM-1", "STM-64x4".
int64_t RateOfLabel(std::string_view label);

} // namespace legacy::fabric
