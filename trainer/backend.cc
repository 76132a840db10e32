#include "trainer/backend.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "trainer/data/batch.h"

namespace legacy {

RandomKey BackendJob::DrawKey(int64_t step, int worker, Purpose purpose) const {
  return {.seed = options.seed,
          .step = static_cast<uint64_t>(step),
          .worker = static_cast<uint32_t>(worker),
          .layer = 0,
          .purpose = purpose};
}

std::optional<RandomKey> BackendJob::AugmentKey(int64_t step, int worker) const {
  if (!dataset.augment) return std::nullopt;
  return DrawKey(step, worker, Purpose::kAugment);
}

std::optional<double> BackendJob::WorkerClip() const {
  std::optional<double> limit = scheme.LocalClipNorm(options.workers);
  if (options.clip_worker > 0)
    limit = std::min(limit.value_or(options.clip_worker), options.clip_worker);
  return limit;
}

torch::Tensor TrainingLoss(Model& model, const Batch& batch, double smoothing) {
  constexpr int64_t kIgnored = -100;  // LibTorch's default: no label is left out
  return torch::cross_entropy_loss(model.Forward(batch.images), batch.labels, {},
                                   at::Reduction::Mean, kIgnored, smoothing);
}

Evaluation MeanOf(std::span<const double> losses, std::span<const int64_t> hits, int64_t samples) {
  const auto total = static_cast<double>(samples);
  return {std::accumulate(losses.begin(), losses.end(), 0.0) / total,
          {static_cast<double>(std::accumulate(hits.begin(), hits.end(), int64_t{0})) / total}};
}

void ThrowNotFinite(int worker, int64_t step, const Unit& layer, float value) {
  throw Error("worker " + std::to_string(worker) + ", step " + std::to_string(step) + ", layer '" +
                  layer.name + "': gradient",
              std::isnan(value) ? "nan" : "inf", "finite numbers; a lower learning rate may help");
}

}  // namespace legacy
