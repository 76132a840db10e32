#include "compress/schemes/sparse/ar_topk_exchange.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/number.h"
#include "compress/checks.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"

namespace legacy {
namespace {

// Returns the variance of the whole population about its mean.
float VarianceOf(std::span<const float> values) {
  if (values.empty()) return 0;
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const float x : values) sum += x;
  const double variance = cpu::SquaredNorm(values) / count - sum / count * (sum / count);
  return static_cast<float>(
      std::clamp(variance, 0.0, static_cast<double>(std::numeric_limits<float>::max())));
}

}  // namespace

ArTopKExchange::ArTopKExchange(const ArTopKOptions& options, const Unit& unit, int workers)
    : ExchangeBase(options.name, unit, workers, options.Memory()), options_(options) {}

ArTopKStep ArTopKExchange::Step() const {
  return {options_, unit(), step().parameter, ActiveWorkers()};
}

int64_t ArTopKExchange::ElementsSent() const {
  return gathers_ ? options_.topk->ElementsSent(unit().numel, step().parameter) : Count();
}

void ArTopKExchange::Begin(const UnitStep& context) {
  CheckParameter(DensityParameter(), context.parameter);
  SetStep(context);
  support_.clear();
  largest_ = -1;
  root_ = ActiveWorker(static_cast<int>(step().info.step % ActiveWorkers()));
  gathers_ = Step().Gathers(step().info.link);
  calls_ = gathers_ ? Step().Gathered() : Step().Reduced();
  first_ = gathers_ ? kGatherCall : options_.root_by_variance ? kVarianceCall : kPositionsCall;
  call_ = first_;
  sum_.assign(gathers_ ? unit().numel : Count(), 0.0f);
}

std::optional<CollectiveCall> ArTopKExchange::NextCall() {
  if (call_ == kDone) return std::nullopt;
  CollectiveCall call = calls_[static_cast<size_t>(call_ - first_)].call;
  if (call_ == kPositionsCall) call.root = root_;
  return call;
}

Header ArTopKExchange::PositionsHeader() const {
  return {.codec = static_cast<uint8_t>(CodecId::kPositions),
          .index = Step().Coding(),
          .unit = unit().id,
          .numel = static_cast<uint32_t>(unit().numel),
          .count = static_cast<uint32_t>(Count())};
}

Header ArTopKExchange::ValuesHeader() const {
  Header header = PositionsHeader();
  header.codec = static_cast<uint8_t>(CodecId::kSupport);
  header.index = IndexCoding::kNone;
  return header;
}

void ArTopKExchange::Compensate(int worker, std::span<const float> gradient) {
  assert(static_cast<int64_t>(gradient.size()) == unit().numel);
  CheckFinite(memory().Compensate(worker, gradient), unit().id);
}

Message ArTopKExchange::Encode(int worker, std::span<const float> gradient) {
  switch (call_) {
    case kGatherCall:
      return memory().Encode(*options_.topk, worker, gradient, SenderContext(worker));
    case kVarianceCall:
      Compensate(worker, gradient);
      return NumberMessage(std::bit_cast<uint32_t>(VarianceOf(memory().MutableResidual(worker))));
    case kPositionsCall:
      if (!options_.root_by_variance) Compensate(worker, gradient);
      return EncodePositions(worker);
    default:
      return EncodeValues(worker);
  }
}

Message ArTopKExchange::EncodePositions(int worker) {
  if (worker != root_) return {};
  const Header header = PositionsHeader();
  Message message = StartMessage(header, int64_t{sizeof(uint32_t)} * header.count);
  WriteIndices(header.index, header.numel,
               cpu::SelectTopK(memory().MutableResidual(worker), header.count), message.bytes);
  return message;
}

Message ArTopKExchange::EncodeValues(int worker) {
  const std::span<float> residual = memory().MutableResidual(worker);
  std::vector<float> sent(support_.size());
  for (size_t i = 0; i < support_.size(); ++i) sent[i] = residual[support_[i]];
  cpu::ClearAt(residual, support_);
  Message message = StartMessage(ValuesHeader(), int64_t{sizeof(float)} * Count());
  AppendFloats(sent, message.bytes);
  return message;
}

void ArTopKExchange::Accumulate(int worker, ByteSpan message) {
  switch (call_) {
    case kGatherCall:
      return options_.topk->DecodeAdd(message, SharedContext(), sum_);
    case kVarianceCall:
      return ReadVariance(worker, message);
    case kPositionsCall:
      if (worker == root_) return ReadPositions(message);
      if (!message.empty())
        throw Error("message: from a worker that is not the root of the broadcast");
      return;
    default:
      return AddValues(message);
  }
}

// If variances are equal, the first worker becomes the root.
void ArTopKExchange::ReadVariance(int worker, ByteSpan message) {
  const auto variance = std::bit_cast<float>(NumberOf(message));
  if (!std::isfinite(variance) || variance < 0) {
    throw Error("message: variance", FormatNumber(variance), "finite numbers, not negative");
  }
  if (variance <= largest_) return;
  largest_ = variance;
  root_ = worker;
}

void ArTopKExchange::ReadPositions(ByteSpan message) {
  const Header header = PositionsHeader();
  ByteSpan rest = CheckedPayload(message, header);
  if (header.index == IndexCoding::kNone) {
    support_.resize(header.count);
    std::iota(support_.begin(), support_.end(), 0u);
  } else {
    support_ = ReadIndices(header.index, header.numel, header.count, rest);
  }
  CheckLength(rest, 0);
}

void ArTopKExchange::AddValues(ByteSpan message) {
  AddSegment(CheckedPayload(message, ValuesHeader(), int64_t{sizeof(float)} * Count()), sum_);
}

void ArTopKExchange::FinishCall() { call_ = call_ == kGatherCall ? kDone : call_ + 1; }

void ArTopKExchange::Mean(std::span<float> out) const {
  assert(static_cast<int64_t>(out.size()) == unit().numel);
  const auto count = static_cast<float>(ActiveWorkers());
  if (gathers_) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = sum_[i] / count;
    return;
  }
  std::ranges::fill(out, 0.0f);
  for (size_t i = 0; i < support_.size(); ++i) out[support_[i]] = sum_[i] / count;
}

}  // namespace legacy
