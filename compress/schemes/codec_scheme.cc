#include "compress/schemes/codec_scheme.h"

#include <algorithm>
#include <cassert>

#include "compress/codec.h"
#include "compress/error.h"
#include "compress/number.h"
#include "compress/schemes/exchange_base.h"

namespace legacy {
namespace {

class CodecExchange : public FeedbackExchange {
 public:
  CodecExchange(std::shared_ptr<const Codec> codec, const Unit& unit, int workers,
                bool error_feedback)
      : FeedbackExchange(codec->Name(), unit, workers, error_feedback),
        codec_(std::move(codec)),
        sum_(unit.numel) {}

  void Begin(const StepContext& context) override;
  std::optional<Round> NextRound() override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override;
  void FinishRound() override { assert(accumulated_ == Participants()); }
  void Mean(std::span<float> out) const override;
  int64_t ElementsSent() const override {
    return codec_->ElementsSent(unit().numel, step().parameter);
  }

 private:
  std::shared_ptr<const Codec> codec_;
  std::vector<float> sum_;
  bool begun_ = false;
  int accumulated_ = 0;  // messages so far
};

void CodecExchange::Begin(const StepContext& context) {
  CheckParameter(codec_->Parameter(), context.parameter);
  if (feedback() && !codec_->AllowsErrorFeedback(context.parameter)) {
    throw Error("error feedback: diverges with codec " + std::string(codec_->Name()) +
                " as it is set (its error can exceed its input); switch it off");
  }
  SetStep(context);
  std::ranges::fill(sum_, 0.0f);
  begun_ = true;
  accumulated_ = 0;
}

std::optional<Round> CodecExchange::NextRound() {
  if (!begun_) return std::nullopt;
  begun_ = false;
  const int64_t numel = unit().numel;
  Round round;
  round.encode = codec_->EncodeWork(numel, step().parameter);
  round.decode = codec_->DecodeWork(numel, step().parameter);
  if (codec_->Linear(numel, step().parameter)) {
    round.reduction = Reduction::kSum;
    round.primitive = Primitive::kAllReduce;
  } else {
    for (Work& work : round.decode) {
      work.elements *= Participants();
      work.launches *= Participants();
    }
  }
  return round;
}

Message CodecExchange::Encode(int worker, std::span<const float> gradient) {
  assert(static_cast<int64_t>(gradient.size()) == unit().numel);
  CodecContext context = SharedContext();
  context.random.worker = static_cast<uint32_t>(worker);
  if (!feedback()) return codec_->Encode(gradient, context);
  return codec_->EncodeWithFeedback(gradient, feedback()->Residual(worker), context);
}

void CodecExchange::Accumulate([[maybe_unused]] int worker, ByteSpan message) {
  assert(worker == Participant(accumulated_));
  codec_->DecodeAdd(message, SharedContext(), sum_);
  ++accumulated_;
}

void CodecExchange::Mean(std::span<float> out) const {
  assert(out.size() == sum_.size());
  const auto count = static_cast<float>(Participants());
  for (size_t i = 0; i < out.size(); ++i) out[i] = sum_[i] / count;
}

}  // namespace

CodecScheme::CodecScheme(std::unique_ptr<Codec> codec, const CodecSchemeOptions& options)
    : codec_(std::move(codec)), options_(options) {}

int64_t CodecScheme::ElementsSent(const Unit& unit, double parameter) const {
  return codec_->ElementsSent(unit.numel, parameter);
}

std::optional<int64_t> CodecScheme::MessageBytes(const Unit& unit, double parameter) const {
  return codec_->MessageBytes(unit, parameter);
}

bool CodecScheme::Compresses(const Unit& unit, double) const {
  return unit.numel >= options_.min_numel && (options_.vectors || unit.shape.size() > 1);
}

std::vector<double> CodecScheme::SquaredErrors(const Unit& unit, std::span<const float> values,
                                               std::span<const double> parameters,
                                               const RandomKey& random) const {
  return codec_->SquaredErrors(values, parameters,
                               {.unit = unit.id, .parameter = 0, .random = random});
}

std::unique_ptr<Exchange> CodecScheme::Open(const Unit& unit, int workers) const {
  return std::make_unique<CodecExchange>(codec_, unit, workers, options_.error_feedback);
}

std::span<const OptionSpec> CodecSchemeOptionSpecs() {
  static const std::vector<OptionSpec> specs = {
      {"min_numel", "0", "0 to 4294967295", "units with fewer elements are sent whole"},
      {"vectors", "on", "on, off", "compress units of one dimension too"}};
  return specs;
}

CodecSchemeOptions ReadCodecSchemeOptions(const OptionReader& reader,
                                          const SchemeOptions& options) {
  return {.error_feedback = options.error_feedback,
          .min_numel = reader.Integer("min_numel", 0, kMaxUnitElements),
          .vectors = reader.Switch("vectors")};
}

}  // namespace legacy
