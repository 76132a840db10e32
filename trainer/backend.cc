#include "trainer/backend.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace legacy {

RandomKey BackendJob::DrawKey(int64_t step, int worker, Purpose purpose) const {
  return {.seed = options.seed,
          .step = static_cast<uint64_t>(step),
          .worker = static_cast<uint32_t>(worker),
          .layer = 0,
          .purpose = purpose};
}

std::optional<double> BackendJob::WorkerClip() const {
  std::optional<double> limit = scheme.LocalClipNorm(options.workers);
  if (options.clip_worker > 0)
    limit = std::min(limit.value_or(options.clip_worker), options.clip_worker);
  return limit;
}

void ThrowNotFinite(int worker, int64_t step, const Unit& layer, float value) {
  throw Error("worker " + std::to_string(worker) + ", step " + std::to_string(step) + ", layer '" +
                  layer.name + "': gradient",
              std::isnan(value) ? "nan" : "inf", "finite numbers; a lower learning rate may help");
}

}  // namespace legacy
