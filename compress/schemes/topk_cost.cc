#include "compress/schemes/topk_cost.h"

#include <cmath>

namespace legacy {

double GatherSeconds(const LinkEstimate& link, int64_t bytes, int workers) {
  const double transfer = static_cast<double>(bytes) * link.seconds_per_byte;
  return link.latency_seconds * std::log2(workers) + 2 * transfer * (workers - 1);
}

double RingSeconds(const LinkEstimate& link, int64_t bytes, int workers) {
  const double transfer = static_cast<double>(bytes) * link.seconds_per_byte;
  const double hops = std::log2(workers);
  const double others = workers - 1;
  return link.latency_seconds * (2 * others + hops) + transfer * (2 * others / workers + hops);
}

double TreeSeconds(const LinkEstimate& link, int64_t bytes, int workers) {
  const double transfer = static_cast<double>(bytes) * link.seconds_per_byte;
  return 3 * std::log2(workers) * (link.latency_seconds + transfer);
}

}  // namespace legacy
