#include "trainer/scaled_steps.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "compress/cpu/cast.h"
#include "compress/cpu/vector.h"
#include "trainer/training_options.h"

namespace legacy {

void ScaledSteps::Check(const TrainingOptions& options, const Scheme& scheme) {
  if (options.Local()) {
    throw Error("precision", "fp16",
                "bf16, tf32 or fp32 with local steps, where each worker would have a loss scale of "
                "its own");
  }
  if (scheme.Traits().momentum_from) {
    throw Error("precision", "fp16",
                "bf16, tf32 or fp32 with scheme " + std::string(scheme.Name()) +
                    ", which exchanges the optimizer's momentum");
  }
}

ScaledSteps::ScaledSteps(const Scheme& scheme, int workers, ModelExchange& exchange,
                         ProcessGroup& processes)
    : sends_values_(scheme.Traits().sends_values),
      sums_halves_(sends_values_ && scheme.Name() == "fp16"),
      exchange_(exchange),
      processes_(processes),
      overflows_(static_cast<size_t>(workers)),
      of_worker_(static_cast<size_t>(workers)) {}

void ScaledSteps::Begin(std::span<const int> active) {
  active_.assign(active.begin(), active.end());
  std::ranges::fill(overflows_, uint8_t{0});
  if (sends_values_) return;  // the exchange keeps nothing
  StateWriter shared;
  exchange_.SaveShared(shared);
  shared_ = shared.Take();
  for (const int worker : processes_.Own(active_)) {
    StateWriter own;
    exchange_.SaveWorker(worker, own);
    of_worker_[worker] = own.Take();
  }
}

// Scales are powers of two, so that nothing is rounded.
void ScaledSteps::Unscale(int worker, std::span<float> gradient) const {
  if (overflows_[worker] != 0) {
    std::ranges::fill(gradient, 0.0f);
  } else {
    cpu::Scale(gradient, static_cast<float>(1 / scale_.value()));
  }
}

void ScaledSteps::ForExchange(std::span<float> gradient) const {
  if (sends_values_) cpu::Scale(gradient, static_cast<float>(scale_.value()));
}

// Casts to fp16 saturate, so that a sum that overflows is the largest half.
bool ScaledSteps::SumOverflows(std::span<const float> scaled_mean) const {
  const auto workers = static_cast<float>(active_.size());
  constexpr float kHalfSpacing = 16;  // below the largest half, more than the division's rounding
  return cpu::AbsMax(scaled_mean) * workers > cpu::kLargestHalf - kHalfSpacing;
}

bool ScaledSteps::AnyOverflows(bool own) const {
  if (processes_.Alone()) return own;
  StateWriter out;
  out.Number(own ? 1 : 0);
  bool any = false;
  for (const Bytes& bytes : processes_.AllGather(out.Take())) {
    any |= StateReader(bytes).Number("whether a gradient overflows", 1) == 1;
  }
  return any;
}

void ScaledSteps::RestoreExchange() {
  if (sends_values_) return;
  StateReader shared(shared_);
  exchange_.LoadShared(shared);
  for (const int worker : processes_.Own(active_)) {
    StateReader own(of_worker_[worker]);
    exchange_.LoadWorker(worker, own);
  }
  exchange_.Loaded();
}

bool ScaledSteps::Finish(int64_t step, std::span<float> mean) {
  bool overflows = std::ranges::find(overflows_, 1) != overflows_.end();
  if (sends_values_) {
    overflows |= sums_halves_ && SumOverflows(mean);
    cpu::Scale(mean, static_cast<float>(1 / scale_.value()));
  }
  if (!AnyOverflows(overflows)) {
    scale_.Updated();
    return true;
  }
  RestoreExchange();
  scale_.Overflowed(step);
  return false;
}

}  // namespace legacy
