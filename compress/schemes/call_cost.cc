#include "compress/schemes/call_cost.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace legacy {

double CallSeconds(const LinkEstimate& link, const CollectiveCall& call, int64_t elements,
                   std::span<const int64_t> bytes) {
  if (bytes.size() < 2) return 0;
  if (link.call_seconds) return link.call_seconds(call, elements, bytes);
  const auto workers = static_cast<double>(bytes.size());
  const double transfer =
      static_cast<double>(*std::ranges::max_element(bytes)) * link.seconds_per_byte;
  switch (call.collective) {
    case Collective::kAllReduce:
      return 2 * (workers - 1) * (link.latency_seconds + transfer / workers);
    case Collective::kAllToAll:
      return link.latency_seconds + (workers - 1) * transfer / workers;
    case Collective::kBlockSparse:
      return 2 * link.latency_seconds +
             (workers - 1) / workers *
                 (transfer + static_cast<double>(call.pull.value_or(0)) * link.seconds_per_byte);
    case Collective::kBroadcast:
      return std::log2(workers) * (link.latency_seconds + transfer);
    default:
      return (workers - 1) * (link.latency_seconds + transfer);
  }
}

double CallsSeconds(const LinkEstimate& link, std::span<const PlannedCall> calls, int64_t elements,
                    int active_workers) {
  double seconds = 0;
  for (const PlannedCall& planned : calls) {
    const CollectiveCall& call = planned.call;
    const bool one_sends = call.collective == Collective::kBroadcast;
    std::vector<int64_t> all(static_cast<size_t>(active_workers), one_sends ? 0 : planned.bytes);
    all[static_cast<size_t>(call.root)] = planned.bytes;
    seconds += CallSeconds(link, call, elements, all);
  }
  return seconds;
}

}  // namespace legacy
