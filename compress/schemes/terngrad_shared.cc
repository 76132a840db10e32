// TernGrad with scaler sharing (Wen et al., TernGrad: Ternary Gradients to Reduce Communication in
// Distributed Deep Learning, NeurIPS 2017, section 4) sends ternary values that the network can
// sum, because all workers use the same scale.
//
//   call 1   s = max over workers of max |g|, g clipped     16 + 4 bytes per worker, all-reduced
//   call 2   sums of t in {-1, 0, 1}                        16 + ceil(n b / 8) bytes per worker,
//            b = ceil(log2(2 N + 1))
//   result   s / N * sum of t
//
// t is sign(g) with probability |g| / s, so that its expectation is the clipped gradient divided by
// s. Codes are t + 1 in b bits, which also hold the sum over N workers. Clipping is that of the
// quantiser terngrad. There is no residual, because the error can exceed the gradient.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/number.h"
#include "compress/checks.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/quantise.h"
#include "compress/cpu/ternary.h"
#include "compress/density.h"
#include "compress/exchange.h"
#include "compress/quantiser.h"
#include "compress/schemes/exchange_base.h"

namespace legacy {
namespace {

constexpr double kMostDeviations = 1e6;
constexpr int kTernaryLevels = 1;   // codes 0, 1, 2
constexpr int kWidestByteCode = 8;  // bits

int CodeBits(int workers) { return std::bit_width(2u * static_cast<unsigned>(workers)); }

class TernGradExchange : public ExchangeBase {
 public:
  TernGradExchange(double clip, const Unit& unit, int workers)
      : ExchangeBase("terngrad-shared", unit, workers, {.kind = MemoryKind::kNone}),
        clip_(clip),
        ranges_(workers),
        sum_(unit.numel) {}

  void Begin(const UnitStep& context) override;
  std::optional<CollectiveCall> NextCall() override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override;
  void FinishCall() override { ++call_; }
  void Mean(std::span<float> out) const override;
  int64_t ElementsSent() const override { return unit().numel; }

 private:
  enum CallIndex { kScaleCall, kCountsCall, kDone };

  Header HeaderOf() const;
  int64_t PayloadBytes() const;
  Message EncodeScale(int worker, std::span<const float> gradient);
  Message EncodeCodes(int worker);
  void ReadScale(ByteSpan segment);
  void AddCodes(ByteSpan segment);

  double clip_;
  std::vector<cpu::Range> ranges_;  // ranges that workers clip to
  int call_ = kDone;
  float scale_ = 0;
  std::vector<int32_t> sum_;  // sum of t
};

void TernGradExchange::Begin(const UnitStep& context) {
  SetStep(context);
  call_ = kScaleCall;
  scale_ = 0;
  std::ranges::fill(sum_, 0);
}

std::optional<CollectiveCall> TernGradExchange::NextCall() {
  if (call_ == kDone) return std::nullopt;
  CollectiveCall call;
  call.collective = Collective::kAllReduce;
  call.reduction = call_ == kScaleCall ? Reduction::kMax : Reduction::kSum;
  if (call_ == kScaleCall) {
    // The copy is for the second collective call. The norms are moments for the range, and the
    // largest value within it.
    call.encode = {{"copy", unit().numel},
                   {.kernel = "norm", .elements = 2 * unit().numel, .launches = 2, .sets = 2}};
  } else {
    call.encode = {{"terngrad-shared.encode", unit().numel}};
    call.decode = {{"terngrad-shared.decode", unit().numel}, {"mean", unit().numel}};
  }
  return call;
}

Header TernGradExchange::HeaderOf() const {
  const auto numel = static_cast<uint32_t>(unit().numel);
  const bool scale = call_ == kScaleCall;
  return {.codec = static_cast<uint8_t>(scale ? CodecId::kScale : CodecId::kDense),
          .values = scale ? ValueType::kFloat32 : ValueType::kCounts,
          .unit = unit().id,
          .numel = numel,
          .count = scale ? std::min(numel, 1u) : numel};
}

int64_t TernGradExchange::PayloadBytes() const {
  if (call_ == kScaleCall) return int64_t{sizeof(float)} * HeaderOf().count;
  return cpu::PackedBytes(unit().numel, CodeBits(ActiveWorkers()));
}

Message TernGradExchange::Encode(int worker, std::span<const float> gradient) {
  return call_ == kScaleCall ? EncodeScale(worker, gradient) : EncodeCodes(worker);
}

Message TernGradExchange::EncodeScale(int worker, std::span<const float> gradient) {
  CheckFinite(gradient, unit().id);
  memory().Compensate(worker, gradient);
  float largest = 0;
  if (!gradient.empty()) {
    ranges_[worker] = cpu::ClipRange(gradient, clip_);
    largest = cpu::ClippedMax(gradient, ranges_[worker]);
  }
  Message message = StartMessage(HeaderOf(), PayloadBytes());
  AppendFloats(std::span(&largest, HeaderOf().count), message.bytes);
  return message;
}

Message TernGradExchange::EncodeCodes(int worker) {
  const std::span<const float> gradient = memory().MutableResidual(worker);
  std::vector<uint8_t> codes(gradient.size(), kTernaryLevels);
  if (scale_ > 0) {
    // The range is within the scale already, unless scales were changed on the way.
    const cpu::Range clip = {std::clamp(ranges_[worker].least, -scale_, scale_),
                             std::clamp(ranges_[worker].most, -scale_, scale_)};
    const cpu::DrawSource source = cpu::MakeDrawSource(SenderContext(worker).random);
    cpu::EncodeCodes(gradient, cpu::TernaryGrid(clip, scale_), source, 0, codes);
  }
  Message message = StartMessage(HeaderOf(), PayloadBytes());
  message.bytes.resize(kHeaderBytes + PayloadBytes());
  const auto out = std::span(message.bytes).subspan(kHeaderBytes);
  const int bits = CodeBits(ActiveWorkers());
  if (bits <= kWidestByteCode) {
    cpu::PackCodes(codes, bits, out);
  } else {
    cpu::PackCodes(std::vector<uint32_t>(codes.begin(), codes.end()), bits, out);
  }
  return message;
}

void TernGradExchange::Accumulate(int, ByteSpan message) {
  const ByteSpan segment = CheckedPayload(message, HeaderOf(), PayloadBytes());
  if (call_ == kCountsCall) return AddCodes(segment);
  if (!segment.empty()) ReadScale(segment);
}

void TernGradExchange::ReadScale(ByteSpan segment) {
  const float scale = FloatAt(segment, 0);
  if (!std::isfinite(scale) || std::signbit(scale)) {
    throw Error("message: scale", FormatNumber(scale), "finite numbers, not negative");
  }
  scale_ = std::max(scale_, scale);
}

void TernGradExchange::AddCodes(ByteSpan segment) {
  std::vector<uint32_t> codes(sum_.size());
  cpu::UnpackCodes(segment, CodeBits(ActiveWorkers()), codes);
  const uint32_t largest = codes.empty() ? 0 : *std::ranges::max_element(codes);
  if (largest > 2 * kTernaryLevels) {
    throw Error("message: code", std::to_string(largest),
                "0 to " + std::to_string(2 * kTernaryLevels));
  }
  for (size_t i = 0; i < codes.size(); ++i)
    sum_[i] += static_cast<int32_t>(codes[i]) - kTernaryLevels;
}

void TernGradExchange::Mean(std::span<float> out) const {
  const double step = static_cast<double>(scale_) / ActiveWorkers();
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(step * sum_[i]);
}

class TernGradScheme : public Scheme {
 public:
  explicit TernGradScheme(double clip) : clip_(clip) {}
  std::string_view Name() const override { return "terngrad-shared"; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  int64_t ElementsSent(const Unit& unit, double) const override { return unit.numel; }
  // The length is not fixed, because codes widen with the number of workers.
  std::optional<int64_t> MessageBytes(const Unit&, double) const override { return std::nullopt; }
  bool UsesErrorFeedback(double) const override { return false; }
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override;
  WorkList ErrorWork(const Unit& unit, std::span<const double>) const override {
    return {{"terngrad.encode", unit.numel}};
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<TernGradExchange>(clip_, unit, workers);
  }

 private:
  double clip_;
};

// Returns the quantiser's error, with this worker's own scale.
std::vector<double> TernGradScheme::SquaredErrors(const Unit&, std::span<const float> values,
                                                  std::span<const double> parameters,
                                                  const RandomKey&) const {
  const auto quantiser = MakeQuantiser({"terngrad", {{"clip", FormatNumber(clip_)}}});
  return std::vector<double>(parameters.size(), quantiser->SquaredError(values, 0));
}

}  // namespace

SchemeRow TernGradSharedRow() {
  return {{.name = "terngrad-shared",
           .help = "rounds at random to signs or zeros at a scale that all workers share, and sums "
                   "them as integers",
           .paper = "Wen et al., TernGrad: Ternary Gradients to Reduce Communication in "
                    "Distributed Deep Learning, NeurIPS 2017",
           .options = {{"clip", "2.5", "0 to 1000000",
                        "clipping bound in standard deviations; 0: no clipping"}}},
          "2 all-reduces",
          [](const OptionReader& own, std::span<const Stage> rest,
             const SchemeOptions&) -> std::unique_ptr<Scheme> {
            if (!rest.empty()) throw Error("scheme terngrad-shared: it takes no second stage");
            return std::make_unique<TernGradScheme>(own.Number("clip", 0, kMostDeviations));
          }};
}

}  // namespace legacy
