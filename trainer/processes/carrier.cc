#include "trainer/processes/carrier.h"

#include <algorithm>

namespace legacy {

std::string WhyNotNccl(std::span<const Bytes> gpus) {
  for (size_t p = 0; p < gpus.size(); ++p) {
    if (gpus[p].empty()) return "process " + std::to_string(p) + " has no GPU";
    const auto same = std::ranges::find(gpus.first(p), gpus[p]) - gpus.begin();
    if (same == static_cast<ptrdiff_t>(p)) continue;
    return "processes " + std::to_string(same) + " and " + std::to_string(p) + " share a GPU";
  }
  return "";
}

}  // namespace legacy
