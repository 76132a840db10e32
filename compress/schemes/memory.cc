#include "compress/schemes/memory.h"

#include <cassert>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"

namespace legacy {
namespace {

constexpr int kStorageShift = 8;  // of the storage in a number of kind

// Returns the quantiser that a number of kind says; null for fp32.
const Quantiser* StoringIn(uint64_t kind) {
  return StoringQuantiser(static_cast<ResidualStorage>(kind >> kStorageShift));
}

double StorageParameter(const Quantiser& quantiser) { return quantiser.Parameter().fallback; }

Bytes SegmentOf(const Quantiser& quantiser, std::span<const float> values, uint32_t unit) {
  Bytes segment;
  EncodeSegment(quantiser, values, StorageParameter(quantiser), {.unit = unit, .random = {}},
                segment);
  return segment;
}

}  // namespace

const Quantiser* StoringQuantiser(ResidualStorage storage) {
  static const std::unique_ptr<const Quantiser> bf16 = MakeQuantiser({"bf16"});
  // No code clamps the largest value of a block.
  static const std::unique_ptr<const Quantiser> int8 =
      MakeQuantiser({"int", {{"bits", "8"}, {"bucket", "256"}, {"range", "narrow"}}});
  switch (storage) {
    case ResidualStorage::kFloat32:
      return nullptr;
    case ResidualStorage::kBfloat16:
      return bf16.get();
    case ResidualStorage::kInteger8:
      return int8.get();
  }
  throw Error("state: memory: its residuals have a storage that is none");
}

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
      velocity_(workers),
      stored_(workers) {}

void Memory::ReadStored(int worker, std::vector<float>& residual) const {
  const Quantiser& quantiser = *options_.Storing();
  residual.resize(numel_);
  DecodeSegment(quantiser, stored_[worker], StorageParameter(quantiser), residual);
}

void Memory::Store(int worker, uint32_t unit) {
  if (options_.Storing() == nullptr) return;
  stored_[worker] = SegmentOf(*options_.Storing(), residuals_[worker], unit);
  residuals_[worker] = {};
}

void Memory::Allocate(int worker) {
  residuals_[worker].resize(numel_);
  if (!stored_[worker].empty()) ReadStored(worker, residuals_[worker]);
  if (options_.kind == MemoryKind::kMomentum) velocity_[worker].resize(numel_);
}

std::span<const float> Memory::FeedTo(int worker, std::span<const float> gradient) {
  Allocate(worker);
  return Feed(options_, gradient, residuals_[worker], velocity_[worker]);
}

Message Memory::Encode(const Codec& codec, int worker, std::span<const float> gradient,
                       const CodecContext& context) {
  if (!Keeps()) return codec.Encode(gradient, context);
  const std::span<const float> fed = FeedTo(worker, gradient);
  Message message;
  if (options_.Averages()) {
    message = EncodeAveraged(codec, worker, fed, context);
  } else {
    std::vector<uint32_t> sent;
    message = codec.EncodeWithFeedback(fed, residuals_[worker], context, &sent);
    MarkSent(worker, sent);
  }
  Store(worker, context.unit);
  return message;
}

Message Memory::EncodeAveraged(const Codec& codec, int worker, std::span<const float> fed,
                               const CodecContext& context) {
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
  assert(options_.Storing() == nullptr);
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
  if (!Keeps()) return {};
  if (stored_[worker].empty()) return residuals_[worker];
  ReadStored(worker, read_);
  return read_;
}

std::span<const float> Memory::Velocity(int worker) const { return velocity_[worker]; }

void Memory::Rescale(float factor) {
  assert(std::isfinite(factor) && factor >= 0);
  if (!Keeps()) return;
  for (auto& residual : residuals_) cpu::Scale(residual, factor);
  for (size_t worker = 0; worker < stored_.size(); ++worker) {
    if (stored_[worker].empty()) continue;
    ReadStored(static_cast<int>(worker), residuals_[worker]);
    cpu::Scale(residuals_[worker], factor);
    Store(static_cast<int>(worker), 0);
  }
}

uint64_t Memory::KindNumber() const {
  const uint64_t storage =
      options_.Storing() == nullptr ? 0 : static_cast<uint64_t>(options_.storage);
  return static_cast<uint64_t>(options_.kind) | storage << kStorageShift;
}

void Memory::Save(StateWriter& out) const {
  out.Number(KindNumber());
  if (!Keeps()) return;
  if (options_.Storing() != nullptr) {
    for (const Bytes& stored : stored_) out.Blob(stored);
    return;
  }
  const std::vector<float> nothing(numel_);
  const auto save = [&](const std::vector<float>& kept) {
    out.Floats(kept.empty() ? nothing : kept);
  };
  for (const auto& residual : residuals_) save(residual);
  if (options_.kind != MemoryKind::kMomentum) return;
  for (const auto& velocity : velocity_) save(velocity);
}

void Memory::Load(StateReader& in) {
  in.ExpectNumber("memory", KindNumber());
  if (!Keeps()) return;
  if (options_.Storing() != nullptr) {
    for (size_t worker = 0; worker < stored_.size(); ++worker) {
      LoadStored(static_cast<int>(worker), in);
    }
    return;
  }
  for (size_t worker = 0; worker < residuals_.size(); ++worker) Allocate(static_cast<int>(worker));
  for (auto& residual : residuals_) in.Floats(residual);
  for (auto& velocity : velocity_) in.Floats(velocity);
}

void Memory::LoadStored(int worker, StateReader& in) {
  const ByteSpan stored = in.Blob();
  stored_[worker].assign(stored.begin(), stored.end());
  if (!stored.empty()) ReadStored(worker, read_);  // throws unless it is a segment
}

void Memory::SaveWorker(int worker, StateWriter& out) const {
  out.Number(KindNumber());
  if (options_.Storing() != nullptr) {
    out.Number(numel_);
    out.Blob(stored_[worker]);
    return out.Number(0);  // no velocity
  }
  for (const auto* kept : {&residuals_[worker], &velocity_[worker]}) {
    out.Number(Keeps() ? kept->size() : 0);
    if (Keeps()) out.Floats(*kept);
  }
}

void Memory::LoadWorker(int worker, StateReader& in) {
  in.ExpectNumber("memory", KindNumber());
  if (options_.Storing() != nullptr) {
    in.ExpectNumber("residual", numel_);
    LoadStored(worker, in);
    return in.ExpectNumber("velocity", 0);
  }
  const bool momentum = options_.kind == MemoryKind::kMomentum;
  residuals_[worker] = in.Floats(in.Number("residual", Keeps() ? numel_ : 0));
  velocity_[worker] = in.Floats(in.Number("velocity", momentum ? numel_ : 0));
}

std::vector<float> ReadResidual(uint64_t kind, StateReader& in) {
  const Quantiser* quantiser = StoringIn(kind);
  if (quantiser == nullptr) return in.Floats(in.Number("values", in.Left()));
  const uint64_t numel = in.Number("values", kMaxUnitElements);
  const ByteSpan stored = in.Blob();
  if (stored.empty()) return {};
  // A segment has a byte or more for each value, so that a malicious count allocates no memory.
  if (numel > stored.size()) throw Error("state: values of a worker: more than its bytes");
  std::vector<float> residual(numel);
  DecodeSegment(*quantiser, stored, StorageParameter(*quantiser), residual);
  return residual;
}

void WriteResidual(uint64_t kind, std::span<const float> residual, StateWriter& out) {
  out.Number(residual.size());
  const Quantiser* quantiser = StoringIn(kind);
  if (quantiser == nullptr) return out.Floats(residual);
  out.Blob(residual.empty() ? Bytes() : SegmentOf(*quantiser, residual, 0));
}

}  // namespace legacy
