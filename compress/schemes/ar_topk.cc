#include "compress/schemes/ar_topk.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "compress/codecs/common.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/cpu/topk.h"
#include "compress/error.h"
#include "compress/schemes/exchange_base.h"
#include "compress/schemes/schemes.h"

namespace legacy {
namespace {

class ArTopKExchange : public FeedbackExchange {
 public:
  ArTopKExchange(std::optional<IndexCoding> index, const Unit& unit, int workers,
                 bool error_feedback)
      : FeedbackExchange("ar-topk", unit, workers, error_feedback), index_(index) {
    if (!error_feedback) gradients_.resize(workers);
  }

  void Begin(const StepContext& context) override;
  std::optional<Round> NextRound() override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override;
  void FinishRound() override { ++round_; }
  void Mean(std::span<float> out) const override;
  int64_t ElementsSent() const override { return KeptCount(unit().numel, step().parameter); }

 private:
  enum RoundIndex { kPositionsRound, kValuesRound, kDone };

  int Root() const { return Participant(static_cast<int>(step().step % Participants())); }
  Header PositionsHeader() const;
  Header ValuesHeader() const;
  // e of the worker: its residual, or with error feedback off its gradient.
  std::span<float> Held(int worker);
  Message EncodePositions(int worker, std::span<const float> gradient);
  Message EncodeValues(int worker);
  void ReadPositions(ByteSpan message);

  std::optional<IndexCoding> index_;
  std::vector<std::vector<float>> gradients_;  // between the rounds, without error feedback
  std::vector<uint32_t> support_;
  std::vector<float> sum_;  // at the support
  int round_ = kDone;
};

void ArTopKExchange::Begin(const StepContext& context) {
  CheckParameter(DensityParameter(), context.parameter);
  SetStep(context);
  support_.clear();
  sum_.assign(ElementsSent(), 0.0f);
  round_ = kPositionsRound;
}

std::optional<Round> ArTopKExchange::NextRound() {
  Round round;
  if (round_ == kPositionsRound) {
    round.primitive = Primitive::kBroadcast;
    round.root = Root();
    round.encode = {{"topk.encode", unit().numel, 1}};
    return round;
  }
  if (round_ == kValuesRound) {
    round.reduction = Reduction::kSum;
    round.primitive = Primitive::kAllReduce;
    round.encode = {{"copy", ElementsSent(), 1}};
    round.decode = {{"sparse.decode", ElementsSent(), 1}};
    return round;
  }
  return std::nullopt;
}

Header ArTopKExchange::PositionsHeader() const {
  const int64_t count = ElementsSent();
  return {.codec = static_cast<uint8_t>(CodecId::kPositions),
          .index = PositionCoding(index_, unit().numel, count),
          .unit = unit().id,
          .numel = static_cast<uint32_t>(unit().numel),
          .count = static_cast<uint32_t>(count)};
}

Header ArTopKExchange::ValuesHeader() const {
  Header header = PositionsHeader();
  header.codec = static_cast<uint8_t>(CodecId::kSupport);
  header.index = IndexCoding::kNone;
  return header;
}

std::span<float> ArTopKExchange::Held(int worker) {
  return feedback() ? feedback()->Residual(worker) : std::span(gradients_[worker]);
}

Message ArTopKExchange::Encode(int worker, std::span<const float> gradient) {
  return round_ == kPositionsRound ? EncodePositions(worker, gradient) : EncodeValues(worker);
}

Message ArTopKExchange::EncodePositions(int worker, std::span<const float> gradient) {
  assert(static_cast<int64_t>(gradient.size()) == unit().numel);
  if (feedback()) {
    feedback()->Compensate(worker, gradient);
  } else {
    gradients_[worker].assign(gradient.begin(), gradient.end());
  }
  CheckFinite(Held(worker), unit().id);
  if (worker != Root()) return {};
  const Header header = PositionsHeader();
  Message message = StartMessage(header, int64_t{sizeof(uint32_t)} * header.count);
  WriteIndices(header.index, header.numel, cpu::SelectTopK(Held(worker), header.count),
               message.bytes);
  return message;
}

Message ArTopKExchange::EncodeValues(int worker) {
  const std::span<float> held = Held(worker);
  std::vector<float> sent(support_.size());
  for (size_t i = 0; i < support_.size(); ++i) sent[i] = held[support_[i]];
  if (feedback()) cpu::ClearAt(held, support_);
  Message message = StartMessage(ValuesHeader(), int64_t{sizeof(float)} * ElementsSent());
  AppendFloats(sent, message.bytes);
  return message;
}

void ArTopKExchange::Accumulate(int worker, ByteSpan message) {
  if (round_ == kPositionsRound) {
    if (worker == Root()) return ReadPositions(message);
    if (!message.empty()) throw Error("message: from a worker that has nothing to broadcast");
    return;
  }
  const ByteSpan segment =
      CheckedPayload(message, ValuesHeader(), int64_t{sizeof(float)} * ElementsSent());
  CheckFiniteSegment(segment);
  for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += FloatAt(segment, i);
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

void ArTopKExchange::Mean(std::span<float> out) const {
  assert(static_cast<int64_t>(out.size()) == unit().numel);
  std::ranges::fill(out, 0.0f);
  const auto count = static_cast<float>(Participants());
  for (size_t i = 0; i < support_.size(); ++i) out[support_[i]] = sum_[i] / count;
}

}  // namespace

const ParameterSpec& ArTopKScheme::Parameter() const { return DensityParameter(); }

int64_t ArTopKScheme::ElementsSent(const Unit& unit, double density) const {
  return KeptCount(unit.numel, density);
}

// Of the root's own gradient; at the others the root's positions are no better than their gradients are alike.
std::vector<double> ArTopKScheme::SquaredErrors(const Unit& unit, std::span<const float> values,
                                                std::span<const double> parameters,
                                                const RandomKey& random) const {
  return MakeCodec("topk")->SquaredErrors(values, parameters,
                                          {.unit = unit.id, .parameter = 0, .random = random});
}

std::optional<int64_t> ArTopKScheme::MessageBytes(const Unit& unit, double density) const {
  const int64_t count = KeptCount(unit.numel, density);
  const IndexCoding coding = PositionCoding(index_, unit.numel, count);
  if (coding == IndexCoding::kDelta) return std::nullopt;
  return 2 * kHeaderBytes + IndexBytes(coding, unit.numel, count) + int64_t{sizeof(float)} * count;
}

std::unique_ptr<Exchange> ArTopKScheme::Open(const Unit& unit, int workers) const {
  return std::make_unique<ArTopKExchange>(index_, unit, workers, error_feedback_);
}

SchemeRow ArTopKRow() {
  return {{.name = "ar-topk",
           .help = "Top-K positions of one worker in turn; values at them are summed on the way",
           .paper = "Tyagi and Swany, Flexible communication for optimal distributed learning over "
                    "unpredictable networks, IEEE BigData 2023",
           .options = {{"index", "auto", "auto, u16, u32, bitmap, packed, delta",
                        "coding of the positions"}}},
          "broadcast, all-reduce",
          [](const OptionReader& own, std::span<const Stage> rest,
             const SchemeOptions& options) -> std::unique_ptr<Scheme> {
            if (!rest.empty()) throw Error("scheme ar-topk: it takes no second stage");
            return std::make_unique<ArTopKScheme>(ParseIndexCoding(own.Text("index")),
                                                  options.error_feedback);
          }};
}

}  // namespace legacy
