// A network schedule changes rates and delays of the network while a training runs
// (network.phases), by the part of the steps done.
//
//   0%:bandwidth=25Gbps,delay=500us;24%:bandwidth=1Gbps;48%:delay=25ms;72%:bandwidth=25Gbps
//
// An entry keeps the values of the entry before unless it names others; the first starts from
// network.bandwidth and network.delay. c1 and c2 are the variable networks of Tyagi and Swany,
// "Flexible communication for optimal distributed learning over unpredictable networks" (2023), of
// 50 epochs. Each link has half of the paper's latency, so that the two links between hosts of a
// star add up to it. The paper describes c2's steps in words only; their figures are ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/options/values.h"

namespace legacy {

// A NetworkScheduleEntry is one part of the schedule.
struct NetworkScheduleEntry {
  double begin = 0;                    // part of the steps that are done when it begins
  std::optional<Rate> bandwidth = {};  // rate of each link; none: the scenario's
  std::optional<Time> delay = {};      // propagation delay of each link; none: the scenario's
};

// Reads a schedule, ascending, the first entry from 0; "none" has no entry. Throws Error naming
// `key`, the piece and what is allowed.
std::vector<NetworkScheduleEntry> ParseNetworkSchedule(const std::string& text,
                                                       const std::string& key);

// Returns the position of the entry of `step` of `steps`; 0 where there is no entry.
size_t EntryOf(const std::vector<NetworkScheduleEntry>& schedule, int64_t step, int64_t steps);

}  // namespace legacy
