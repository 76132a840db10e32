#include "compress/schemes/error_feedback.h"

#include <cassert>
#include <cmath>

#include "compress/cpu/vector.h"

namespace legacy {

ErrorFeedback::ErrorFeedback(int64_t numel, int workers)
    : numel_(numel), residuals_(workers, std::vector<float>(numel)) {}

std::span<float> ErrorFeedback::Compensate(int worker, std::span<const float> gradient) {
  cpu::Add(gradient, residuals_[worker]);
  return residuals_[worker];
}

void ErrorFeedback::Rescale(float factor) {
  assert(std::isfinite(factor) && factor >= 0);
  for (auto& residual : residuals_) cpu::Scale(residual, factor);
}

void ErrorFeedback::Save(StateWriter& out) const {
  for (const auto& residual : residuals_) out.Floats(residual);
}

void ErrorFeedback::Load(StateReader& in) {
  in.ExpectFloatsLeft(numel_ * static_cast<int64_t>(residuals_.size()));
  for (auto& residual : residuals_) in.Floats(residual);
}

}  // namespace legacy
