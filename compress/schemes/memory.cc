#include "compress/schemes/memory.h"

#include <cassert>
#include <cmath>

#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"

namespace legacy {

std::span<const float> Feed(const MemoryOptions& options, std::span<const float> gradient,
                            std::span<float> residual, std::span<float> velocity) {
  if (options.Decays()) cpu::Scale(residual, options.decay);
  if (options.kind != MemoryKind::kMomentum) return gradient;
  assert(velocity.size() == gradient.size() && residual.size() == gradient.size());
  const cpu::MomentumRule rule = options.Momentum();
  for (size_t i = 0; i < velocity.size(); ++i) rule.Feed(gradient[i], velocity[i], residual[i]);
  return velocity;
}

std::vector<float> ErrorFed(const MemoryOptions& options, std::span<const float> gradient,
                            std::span<const float> residual, std::span<const float> velocity) {
  if (options.kind == MemoryKind::kNone) return {gradient.begin(), gradient.end()};
  std::vector<float> e(residual.begin(), residual.end());
  std::vector<float> u(velocity.begin(), velocity.end());
  e.resize(gradient.size());
  if (options.kind == MemoryKind::kMomentum) u.resize(gradient.size());
  const std::span<const float> fed = Feed(options, gradient, e, u);
  cpu::Add(fed, e);
  return e;
}

Memory::Memory(const MemoryOptions& options, int64_t numel, int workers)
    : options_(options),
      numel_(static_cast<size_t>(numel)),
      residuals_(workers),
      velocity_(workers) {}

void Memory::Allocate(int worker) {
  residuals_[worker].resize(numel_);
  if (options_.kind == MemoryKind::kMomentum) velocity_[worker].resize(numel_);
}

std::span<const float> Memory::FeedTo(int worker, std::span<const float> gradient) {
  Allocate(worker);
  return Feed(options_, gradient, residuals_[worker], velocity_[worker]);
}

Message Memory::Encode(const Codec& codec, int worker, std::span<const float> gradient,
                       const CodecContext& context) {
  if (!Keeps()) return codec.Encode(gradient, context);
  if (options_.Averages()) return EncodeAveraged(codec, worker, gradient, context);
  const std::span<const float> fed = FeedTo(worker, gradient);
  std::vector<uint32_t> sent;
  Message message = codec.EncodeWithFeedback(fed, residuals_[worker], context, &sent);
  MarkSent(worker, sent);
  return message;
}

Message Memory::EncodeAveraged(const Codec& codec, int worker, std::span<const float> gradient,
                               const CodecContext& context) {
  const std::span<const float> fed = FeedTo(worker, gradient);
  std::vector<float>& residual = residuals_[worker];
  const std::vector<float> before = residual;
  Message message = codec.EncodeWithFeedback(fed, residual, context);
  const bool resets =
      options_.reset > 0 && (context.random.step + 1) % static_cast<uint64_t>(options_.reset) == 0;
  const float stays = options_.average, comes = 1 - options_.average;
  for (size_t i = 0; i < residual.size(); ++i) {
    residual[i] = resets ? 0.0f : stays * before[i] + comes * residual[i];
  }
  return message;
}

std::span<float> Memory::Compensate(int worker, std::span<const float> gradient) {
  if (Keeps()) {
    const std::span<const float> fed = FeedTo(worker, gradient);
    cpu::Add(fed, residuals_[worker]);
  } else {
    residuals_[worker].assign(gradient.begin(), gradient.end());
  }
  return residuals_[worker];
}

void Memory::MarkSent(int worker, std::span<const uint32_t> positions) {
  if (options_.kind == MemoryKind::kMomentum && options_.masking) {
    cpu::ClearAt(velocity_[worker], positions);
  }
}

std::span<const float> Memory::Residual(int worker) const {
  return Keeps() ? std::span<const float>(residuals_[worker]) : std::span<const float>();
}

std::span<const float> Memory::Velocity(int worker) const { return velocity_[worker]; }

void Memory::Rescale(float factor) {
  assert(std::isfinite(factor) && factor >= 0);
  if (!Keeps()) return;
  for (auto& residual : residuals_) cpu::Scale(residual, factor);
}

void Memory::Save(StateWriter& out) const {
  out.Number(static_cast<uint64_t>(options_.kind));
  if (!Keeps()) return;
  const std::vector<float> nothing(numel_);
  const auto save = [&](const std::vector<float>& kept) {
    out.Floats(kept.empty() ? nothing : kept);
  };
  for (const auto& residual : residuals_) save(residual);
  if (options_.kind != MemoryKind::kMomentum) return;
  for (const auto& velocity : velocity_) save(velocity);
}

void Memory::Load(StateReader& in) {
  in.ExpectNumber("memory", static_cast<uint64_t>(options_.kind));
  if (!Keeps()) return;
  for (size_t worker = 0; worker < residuals_.size(); ++worker) Allocate(static_cast<int>(worker));
  for (auto& residual : residuals_) in.Floats(residual);
  for (auto& velocity : velocity_) in.Floats(velocity);
}

void Memory::SaveWorker(int worker, StateWriter& out) const {
  out.Number(static_cast<uint64_t>(options_.kind));
  for (const auto* kept : {&residuals_[worker], &velocity_[worker]}) {
    out.Number(Keeps() ? kept->size() : 0);
    if (Keeps()) out.Floats(*kept);
  }
}

void Memory::LoadWorker(int worker, StateReader& in) {
  in.ExpectNumber("memory", static_cast<uint64_t>(options_.kind));
  const bool momentum = options_.kind == MemoryKind::kMomentum;
  residuals_[worker] = in.Floats(in.Number("residual", Keeps() ? numel_ : 0));
  velocity_[worker] = in.Floats(in.Number("velocity", momentum ? numel_ : 0));
}

}  // namespace legacy
