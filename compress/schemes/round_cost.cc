#include "compress/schemes/round_cost.h"

#include <algorithm>
#include <cmath>

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

}  // namespace legacy
