#include "trainer/torch/backend.h"

#include <torch/torch.h>

#include <cmath>

#include "base/error.h"

namespace legacy {

RandomKey BackendJob::DrawKey(int64_t step, int worker, Purpose purpose, int64_t pass) const {
  return {.seed = options.seed,
          .step = static_cast<uint64_t>(step),
          .worker = static_cast<uint32_t>(worker),
          .layer = static_cast<uint32_t>(pass),
          .purpose = purpose};
}

double BackendJob::LossScale(const Batch& pass) const {
  if (options.loss == LossReduction::kMean) return 1 / static_cast<double>(options.passes);
  return static_cast<double>(pass.targets.numel());  // training leaves none out
}

void ThrowNotFinite(int worker, int64_t step, const Unit& layer, float value,
                    const Scheme& scheme) {
  std::string help = "a lower learning rate may help";
  const std::optional<int64_t> kept = scheme.Traits().momentum_from;
  if (kept && step >= *kept) {
    help = "a longer warm-up may help (" + std::string(scheme.Name()) +
           ":warmup=" + std::to_string(*kept) + "): since step " + std::to_string(*kept) +
           " Adam divides by the variance of the first steps";
  }
  throw Error("worker " + std::to_string(worker) + ", step " + std::to_string(step) + ", layer '" +
                  layer.name + "': gradient",
              std::isnan(value) ? "nan" : "inf", "finite numbers; " + help);
}

}  // namespace legacy
