// DeMo: decoupled momentum (Peng, Kingma et al., "DeMo: Decoupled Momentum Optimization", ICLR
// 2026). Workers do not share their momentum. Each sends the largest cosine coefficients of its own
// (codecs/dct_codec.h), and keeps the rest:
//
//   worker i   e_i = beta delta_i + lr g_i;  sends the coefficients c of S_i, the k largest of each
//              chunk;  delta_i' = e_i - IDCT(c on S_i)
//   all        Q = for each position, the mean over the workers that sent it (aggregate=senders, as
//              published) or over all workers (aggregate=all); 0 where none did
//   result     IDCT(Q);  x <- x - lr sign(IDCT(Q)) (optimizer sign)
//
// The learning rate is part of delta, so that residuals are not rescaled when it changes. With
// sign=off they are in gradient units (e_i = beta delta_i + g_i), are rescaled as those of other
// schemes, and IDCT(Q) is the gradient of plain SGD.
//
// Vectors have few chunks, of which k coefficients are half: vectors=whole sends them as fp32, so
// that they keep no momentum; vectors=dct as lines. Calls are all-gathers; coefficients are added
// in the workers' order. A message of C chunks of h x w: see dct_codec.h; of a vector that is sent
// whole: that of codec dense.
#include <algorithm>
#include <cassert>
#include <utility>

#include "base/error.h"
#include "compress/codecs/dct_codec.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/exchange.h"
#include "compress/schemes/codec_exchange.h"
#include "compress/schemes/exchange_base.h"

namespace legacy {
namespace {

constexpr const char* kDemo = "demo";
constexpr double kLargestBeta = 0.999999;

struct DemoOptions {
  std::shared_ptr<const DctCodec> codec;  // of units without a shape
  double beta = 0.999;
  bool vectors = false;  // true: units of one dimension are transformed too
  bool by_senders = true;
  bool sign = true;
};

class DemoScheme : public Scheme {
 public:
  explicit DemoScheme(DemoOptions options) : options_(std::move(options)) {}
  std::string_view Name() const override { return kDemo; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  SchemeTraits Traits() const override {
    return {.owns_momentum = true,
            .needs_error_feedback = true,
            .owns_rate = options_.sign,
            .optimizer = options_.sign ? "sign" : "sgd"};
  }
  bool Compresses(const Unit& unit, double) const override {
    return options_.vectors || unit.shape.size() > 1;
  }
  int64_t ElementsSent(const Unit& unit, double parameter) const override {
    return CodecOf(unit)->ElementsSent(unit.numel, parameter);
  }
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    return CodecOf(unit)->MessageBytes(unit, parameter);
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double parameter,
                                               int active_workers) const override {
    return std::vector<PlannedCall>{
        {Call(*CodecOf(unit), unit, active_workers), *MessageBytes(unit, parameter)}};
  }
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override {
    return CodecOf(unit)->SquaredErrors(values, parameters,
                                        {.unit = unit.id, .parameter = 0, .random = random});
  }
  WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const override {
    return CodecOf(unit)->ErrorWork(unit.numel, parameters);
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override;

  const DemoOptions& options() const { return options_; }
  CollectiveCall Call(const Codec& codec, const Unit& unit, int active_workers) const;

 private:
  // Returns the codec of a unit's messages.
  std::shared_ptr<const Codec> CodecOf(const Unit& unit) const {
    if (!Compresses(unit, 0)) return {std::shared_ptr<void>(), &DenseCodec()};
    if (std::unique_ptr<Codec> own = options_.codec->ForUnit(unit)) return own;
    return options_.codec;
  }

  DemoOptions options_;
};

// The gradient is multiplied by the rate, and delta by beta, in a pass each. Numbers of senders are
// read once more.
CollectiveCall DemoScheme::Call(const Codec& codec, const Unit& unit, int active_workers) const {
  const bool whole = !Compresses(unit, 0);
  CollectiveCall call;
  if (options_.sign) AddWork(Work{"copy", unit.numel}, call.encode);
  if (!whole) AddWork(Work{"copy", unit.numel}, call.encode);
  AddWork(codec.EncodeWork(unit.numel, {}), call.encode);
  if (!whole) AddWork(codec.FeedbackWork(unit.numel, 1, Feeding::kGradient), call.encode);
  call.decode = Times(codec.DecodeWork(unit.numel, 1), active_workers);
  AddWork(whole ? WorkList{{"mean", unit.numel}} : codec.FinishWork(unit.numel, 1), call.decode);
  if (!whole && options_.by_senders) AddWork(Work{"mean", unit.numel}, call.decode);
  return call;
}

class DemoExchange : public ExchangeBase {
 public:
  DemoExchange(DemoScheme scheme, std::shared_ptr<const Codec> codec, const Unit& unit, int workers)
      : ExchangeBase(kDemo, unit, workers, MemoryOf(scheme, unit)),
        scheme_(std::move(scheme)),
        codec_(std::move(codec)),
        dct_(dynamic_cast<const DctCodec*>(codec_.get())) {}

  void Begin(const UnitStep& context) override {
    SetStep(context);
    rate_ = static_cast<float>(context.info.learning_rate);
    sum_.assign(static_cast<size_t>(unit().numel), 0.0f);
    if (BySenders()) senders_.assign(sum_.size(), 0.0f);
    open_ = true;
  }
  std::optional<CollectiveCall> NextCall() override {
    if (!open_) return std::nullopt;
    return scheme_.Call(*codec_, unit(), ActiveWorkers());
  }
  Message Encode(int worker, std::span<const float> gradient) override {
    return memory().Encode(*codec_, worker, Scaled(gradient), SenderContext(worker));
  }
  void Accumulate(int worker, ByteSpan message) override;
  void FinishCall() override { open_ = false; }
  void Mean(std::span<float> out) const override;
  int64_t ElementsSent() const override {
    return codec_->ElementsSent(unit().numel, step().parameter);
  }
  void RescaleResiduals(float factor) override {
    if (!scheme_.options().sign) ExchangeBase::RescaleResiduals(factor);
  }
  std::vector<float> ErrorFed(int worker, std::span<const float> gradient) const override {
    return ExchangeBase::ErrorFed(worker, Scaled(gradient));
  }

 private:
  static MemoryOptions MemoryOf(const DemoScheme& scheme, const Unit& unit) {
    if (!scheme.Compresses(unit, 0)) return {.kind = MemoryKind::kNone};
    return {.kind = MemoryKind::kResidual, .decay = static_cast<float>(scheme.options().beta)};
  }
  bool BySenders() const { return dct_ != nullptr && scheme_.options().by_senders; }
  // Returns the gradient as it is added to delta.
  std::vector<float> Scaled(std::span<const float> gradient) const {
    std::vector<float> scaled(gradient.begin(), gradient.end());
    if (scheme_.options().sign) cpu::Scale(scaled, rate_);
    return scaled;
  }

  const DemoScheme scheme_;
  std::shared_ptr<const Codec> codec_;
  const DctCodec* dct_;         // null for a unit that is sent whole
  std::vector<float> sum_;      // of coefficients, or of values that are sent whole
  std::vector<float> senders_;  // number of workers that sent each
  float rate_ = 1;              // of the last step; before the first, 1
  bool open_ = false;
};

void DemoExchange::Accumulate([[maybe_unused]] int worker, ByteSpan message) {
  if (!BySenders()) {
    codec_->Accumulate(message, unit().numel, SharedContext(), sum_);
    return;
  }
  const DctCodec::Kept kept = dct_->Read(message, unit().numel, SharedContext());
  for (size_t i = 0; i < kept.positions.size(); ++i) {
    sum_[kept.positions[i]] += kept.values[i];
    senders_[kept.positions[i]] += 1;
  }
}

void DemoExchange::Mean(std::span<float> out) const {
  if (!BySenders()) {
    codec_->MeanOf(sum_, static_cast<float>(ActiveWorkers()), SharedContext(), out);
    return;
  }
  std::vector<float> mean = sum_;
  for (size_t i = 0; i < mean.size(); ++i) mean[i] /= std::max(senders_[i], 1.0f);
  codec_->MeanOf(mean, 1, SharedContext(), out);
}

std::unique_ptr<Exchange> DemoScheme::Open(const Unit& unit, int workers) const {
  return std::make_unique<DemoExchange>(*this, CodecOf(unit), unit, workers);
}

std::vector<OptionSpec> OptionsOfDemo() {
  return {{"beta", "0.999", "0 to 0.999999", "decay of each worker's momentum"},
          {"k", "32", "1 to 1048576", "number of coefficients that are sent of each chunk"},
          {"chunk", "64", "1 to 1024",
           "number of values along each side of a chunk, at most; chunks divide the layer"},
          {"vectors", "whole", "whole, dct",
           "units of one dimension: sent as fp32, without momentum, or transformed as lines"},
          {"aggregate", "senders", "senders, all",
           "divisor of a coefficient's sum: the workers that sent it, or all workers"},
          {"sign", "on", "on, off",
           "on: the optimizer is sign, and the rate part of the momentum; off: plain SGD, and "
           "momentum of gradients"}};
}

std::unique_ptr<Scheme> MakeDemo(const OptionReader& own, std::span<const Stage> rest,
                                 const SchemeOptions& options) {
  constexpr std::string_view kVectors[] = {"whole", "dct"};
  constexpr std::string_view kAggregates[] = {"senders", "all"};
  if (rest.size() > 1) {
    throw Error("scheme demo", FormatStages(rest), "at most one second stage, a quantiser");
  }
  if (!options.error_feedback) {
    throw Error("error feedback", "off", "on with scheme demo, whose momentum it is");
  }
  DctCodec::Settings settings;
  settings.quantiser = MakeQuantiser(rest.empty() ? Stage{"fp32"} : rest.front());
  const double bits = settings.quantiser->Parameter().fallback;
  if (!settings.quantiser->SegmentBytes(1, bits)) {
    throw Error("quantiser of scheme demo", FormatStages(rest), "those of a fixed length");
  }
  if (!settings.quantiser->AllowsErrorFeedback(bits)) {
    throw Error("quantiser of scheme demo", FormatStages(rest),
                "those with which error feedback does not diverge");
  }
  settings.k = own.Integer("k", 1, DctCodec::kMostChunk * DctCodec::kMostChunk);
  settings.chunk = own.Integer("chunk", 1, DctCodec::kMostChunk);
  return std::make_unique<DemoScheme>(
      DemoOptions{.codec = std::make_shared<const DctCodec>(std::move(settings)),
                  .beta = own.Number("beta", 0, kLargestBeta),
                  .vectors = own.Choice("vectors", kVectors) == 1,
                  .by_senders = own.Choice("aggregate", kAggregates) == 0,
                  .sign = own.Switch("sign")});
}

}  // namespace

SchemeRow DemoRow() {
  return {{.name = kDemo,
           .help = "sends the largest cosine coefficients of each worker's own momentum, and keeps "
                   "the rest in it; the optimizer is sign",
           .paper = "Peng, Kingma et al., DeMo: Decoupled Momentum Optimization, ICLR 2026",
           .options = OptionsOfDemo()},
          "all-gather",
          MakeDemo};
}

}  // namespace legacy
