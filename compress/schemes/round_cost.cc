#include "compress/schemes/round_cost.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace legacy {

double RoundSeconds(const LinkEstimate& link, const Round& round, int64_t elements,
                    std::span<const int64_t> bytes) {
  if (bytes.size() < 2) return 0;
  if (link.round_seconds) return link.round_seconds(round, elements, bytes);
  const auto workers = static_cast<double>(bytes.size());
  const double transfer =
      static_cast<double>(*std::ranges::max_element(bytes)) * link.seconds_per_byte;
  switch (round.primitive) {
    case Primitive::kAllReduce:
      return 2 * (workers - 1) * (link.latency_seconds + transfer / workers);
    case Primitive::kBroadcast:
      return std::log2(workers) * (link.latency_seconds + transfer);
    default:
      return (workers - 1) * (link.latency_seconds + transfer);
  }
}

double RoundsSeconds(const LinkEstimate& link, std::span<const PlannedRound> rounds,
                     int64_t elements, int participants) {
  double seconds = 0;
  for (const auto& [round, bytes] : rounds) {
    const bool one_sends = round.primitive == Primitive::kBroadcast;
    std::vector<int64_t> all(static_cast<size_t>(participants), one_sends ? 0 : bytes);
    all[static_cast<size_t>(round.root)] = bytes;
    seconds += RoundSeconds(link, round, elements, all);
  }
  return seconds;
}

}  // namespace legacy
