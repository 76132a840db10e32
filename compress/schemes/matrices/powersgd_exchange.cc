#include "compress/schemes/matrices/powersgd_exchange.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/vector.h"
#include "compress/schemes/codec_exchange.h"

namespace legacy {

PowerSgdExchange::PowerSgdExchange(const PowerSgdScheme& scheme, const PowerSgdOptions& options,
                                   const Unit& unit, int workers)
    : ExchangeBase("powersgd", unit, workers, scheme.MemoryOf(unit)),
      scheme_(scheme),
      warm_start_(options.warm_start),
      shape_(MatrixOf(unit)),
      mean_(unit.numel) {}

void PowerSgdExchange::Begin(const UnitStep& context) {
  CheckParameter(scheme_.Parameter(), context.parameter);
  SetStep(context);
  rank_ = scheme_.Vectors(unit(), context.parameter);
  call_ = rank_ > 0 ? kLeftCall : kWholeCall;
  if (rank_ > 0) PrepareBasis();
  sum_.assign(rank_ > 0 ? rank_ * shape_.rows : unit().numel, 0.0f);
}

// Prepares Q for the first collective call: the result of the last step, with new vectors where
// there are none.
void PowerSgdExchange::PrepareBasis() {
  std::vector<float>& basis = shared();
  if (!warm_start_) basis.clear();
  basis.resize(rank_ * shape_.columns);
  for (int64_t c = 0; c < rank_; ++c) {
    const auto vector = std::span(basis).subspan(c * shape_.columns, shape_.columns);
    const bool dead = std::ranges::all_of(vector, [](float x) { return x == 0; });
    if (dead) DrawVector(SharedContext().random, c, vector);
  }
}

std::optional<CollectiveCall> PowerSgdExchange::NextCall() {
  if (call_ == kDone) return std::nullopt;
  const std::vector<CollectiveCall> calls = scheme_.Calls(unit(), step().parameter);
  return call_ == kRightCall ? calls.back() : calls.front();
}

Header PowerSgdExchange::CallHeader() const {
  const auto factor = call_ == kLeftCall ? CodecId::kPowerSgdP : CodecId::kPowerSgdQ;
  return FactorHeader(unit(), factor, std::ssize(sum_));
}

Message PowerSgdExchange::Encode(int worker, std::span<const float> gradient) {
  if (call_ != kRightCall) {
    assert(static_cast<int64_t>(gradient.size()) == unit().numel);
    CheckFinite(memory().Compensate(worker, gradient), unit().id);
  }
  const std::span<float> residual = memory().MutableResidual(worker);
  if (call_ == kWholeCall) {
    Message message = DenseCodec().Encode(residual, SenderContext(worker));
    std::ranges::fill(residual, 0.0f);
    return message;
  }
  std::vector<float> factor(sum_.size());
  if (call_ == kLeftCall) {
    Multiply(residual, shape_, shared(), factor);
  } else {
    MultiplyTransposed(residual, shape_, left_, factor);
  }
  const std::span<const float> values = factor;
  Message message = StartMessage(CallHeader(), static_cast<int64_t>(values.size_bytes()));
  AppendFloats(values, message.bytes);
  return message;
}

void PowerSgdExchange::Accumulate(int, ByteSpan message) {
  if (call_ == kWholeCall) return DenseCodec().DecodeAdd(message, SharedContext(), sum_);
  AddSegment(CheckedPayload(message, CallHeader(), int64_t{sizeof(float)} * std::ssize(sum_)),
             sum_);
}

void PowerSgdExchange::FinishCall() {
  const auto count = static_cast<float>(ActiveWorkers());
  for (float& x : sum_) x /= count;
  CheckFinite(sum_, unit().id);  // sums may overflow
  if (call_ == kLeftCall) {
    left_ = std::move(sum_);
    Orthonormalise(left_, shape_.rows);
    sum_.assign(rank_ * shape_.columns, 0.0f);
    call_ = kRightCall;
    return;
  }
  if (call_ == kRightCall) {
    Reconstruct();
    KeepBasis();
  } else {
    mean_ = std::move(sum_);
  }
  call_ = kDone;
}

// If the result is not finite, it throws before residuals change.
void PowerSgdExchange::Reconstruct() {
  MultiplyOuter(left_, sum_, shape_, mean_);
  CheckFinite(mean_, unit().id);
  if (!memory().Keeps()) return;
  for (int i = 0; i < ActiveWorkers(); ++i) {
    const std::span<float> residual = memory().MutableResidual(ActiveWorker(i));
    for (size_t j = 0; j < residual.size(); ++j) residual[j] -= mean_[j];
  }
}

// Only directions matter for the next step. Lengths are scaled to about one, by exact powers of
// two, so that powers of the gradient do not accumulate.
void PowerSgdExchange::KeepBasis() {
  for (int64_t c = 0; c < rank_; ++c) {
    const auto vector = std::span(sum_).subspan(c * shape_.columns, shape_.columns);
    const float largest = cpu::AbsMax(vector);
    if (largest == 0) continue;
    const int exponent = std::ilogb(largest);
    for (float& x : vector) x = std::ldexp(x, -exponent);
  }
  shared() = std::move(sum_);
}

void PowerSgdExchange::CheckShared(std::span<const float> shared) const {
  const int64_t most = std::min({kLargestRank, shape_.rows, shape_.columns}) * shape_.columns;
  const auto size = static_cast<int64_t>(shared.size());
  if (size <= most && (shape_.columns == 0 || size % shape_.columns == 0)) return;
  throw Error("state: values of the basis", std::to_string(size),
              "vectors of " + std::to_string(shape_.columns));
}

void PowerSgdExchange::Mean(std::span<float> out) const {
  assert(out.size() == mean_.size());
  std::ranges::copy(mean_, out.begin());
}

}  // namespace legacy
