// A network schedule is a network that changes while a training runs (network.phases): rates and
// delays by the part of the steps done.
//
//   0%:bandwidth=25Gbps,delay=500us;24%:bandwidth=1Gbps;48%:delay=25ms;72%:bandwidth=25Gbps
//
// What an entry does not name stays as in the entry before; the first starts from network.bandwidth
// and network.delay. c1 and c2 are the variable networks of Tyagi and Swany, "Flexible
// communication for optimal distributed learning over unpredictable networks" (2023), of 50 epochs;
// their latencies are halved onto each link, so that the two links between hosts of a star make up
// the whole. The paper names c2's steps in words alone: its figures are ours.
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
