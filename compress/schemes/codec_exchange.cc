#include "compress/schemes/codec_exchange.h"

#include <algorithm>
#include <cassert>

#include "compress/codecs/common.h"
#include "compress/codecs/quantiser_codec.h"
#include "compress/cpu/vector.h"
#include "compress/error.h"
#include "compress/schemes/requantise.h"

namespace legacy {
namespace {

// Units that are sent whole have nothing to hold but momentum.
MemoryOptions MemoryOf(const CodecExchangeSetup& setup) {
  MemoryOptions memory = setup.memory;
  if (setup.whole && memory.kind == MemoryKind::kResidual) memory.kind = MemoryKind::kNone;
  return memory;
}

}  // namespace

const Codec& DenseCodec() {
  static const std::unique_ptr<const Codec> codec = MakeCodec("dense");
  return *codec;
}

CodecExchange::CodecExchange(CodecExchangeSetup setup, const Unit& unit, int workers)
    : ExchangeBase(setup.scheme, unit, workers, MemoryOf(setup)),
      setup_(std::move(setup)),
      sum_(unit.numel),
      waiting_(workers) {
  if (const SparseCodec* sparse = setup_.codec->Sparse()) {
    levels_.emplace(*sparse, unit.numel, workers);
  }
}

const Codec& CodecExchange::Active() const { return whole_ ? DenseCodec() : *setup_.codec; }

void CodecExchange::Begin(const StepContext& context) {
  const Codec& codec = *setup_.codec;
  SetStep(context);
  whole_ = setup_.whole;
  if (context.candidates.empty()) {
    CheckParameter(codec.Parameter(), context.parameter);
  } else {
    if (!levels_) return Exchange::Choose(0);  // throws
    levels_->Begin(context.candidates, context.estimate);
    SetParameter(context.candidates.front());
  }
  if (!whole_ && memory().Keeps() && !codec.AllowsErrorFeedback(step().parameter)) {
    throw Error("error feedback: diverges with codec " + std::string(codec.Name()) +
                " as it is set (its error can exceed its input); switch it off");
  }
  std::ranges::fill(sum_, 0.0f);
  divisor_ = static_cast<float>(Participants());
  round_ = kLengthsRound;
  lengths_.clear();
  accumulated_ = 0;
  sent_ = 0;
}

Probe CodecExchange::Measure(int worker, std::span<const float> gradient) {
  if (!levels_) return Exchange::Measure(worker, gradient);
  assert(!step().candidates.empty());
  return levels_->Measure(worker, memory().Compensate(worker, gradient), SharedContext(), whole_);
}

void CodecExchange::Choose(size_t index) {
  if (!levels_) return Exchange::Choose(index);
  assert(index < step().candidates.size());
  chosen_ = index;
  SetParameter(step().candidates[index]);
  whole_ = setup_.whole || levels_->SendsAll(index);
}

std::optional<Round> CodecExchange::NextRound() {
  if (round_ == kDone) return std::nullopt;
  Round round;
  if (round_ == kLengthsRound && LengthsTravel()) {
    round.encode = EncodeWork();
    return round;
  }
  if (round_ == kLengthsRound) round.encode = EncodeWork();
  round_ = kMessagesRound;
  round.decode = DecodeWork();
  if (setup_.requantise && !whole_) {
    round.reduction = Reduction::kRequantisedSum;
    round.primitive = Primitive::kAllReduce;
  } else if (Active().Linear(unit().numel, step().parameter)) {
    round.reduction = Reduction::kSum;
    round.primitive = Primitive::kAllReduce;
  }
  return round;
}

WorkList CodecExchange::EncodeWork() const {
  const bool selected = !step().candidates.empty() && !step().estimate;  // in Measure
  if (selected) return {{"copy", ElementsSent(), 1}};
  return Active().EncodeWork(unit().numel, step().parameter);
}

// Of all messages together; where their number of values depends on the data, of those that there are.
WorkList CodecExchange::DecodeWork() const {
  const int64_t numel = unit().numel;
  WorkList work = Active().DecodeWork(numel, step().parameter);
  if (Active().Linear(numel, step().parameter)) return work;
  if (setup_.requantise && !whole_) {
    return RequantiseWork(*setup_.codec, numel, step().parameter, Participants());
  }
  const int64_t one = std::max(Active().ElementsSent(numel, step().parameter), int64_t{1});
  const int64_t all = lengths_.empty() ? one * Participants() : WaitingValues();
  for (Work& part : work) {
    part.launches *= Participants();
    part.elements = part.elements / one * all;
  }
  return work;
}

int64_t CodecExchange::WaitingValues() const {
  int64_t values = 0;
  for (int i = 0; i < Participants(); ++i) {
    values += ReadHeader(waiting_[Participant(i)].bytes).count;
  }
  return values;
}

Message CodecExchange::Encode(int worker, std::span<const float> gradient) {
  if (round_ == kLengthsRound) {
    waiting_[worker] = MakeMessage(worker, gradient);
    return NumberMessage(static_cast<uint32_t>(waiting_[worker].size()));
  }
  return lengths_.empty() ? MakeMessage(worker, gradient) : std::move(waiting_[worker]);
}

Message CodecExchange::MakeMessage(int worker, std::span<const float> gradient) {
  if (!step().candidates.empty()) return ChosenMessage(worker);
  assert(static_cast<int64_t>(gradient.size()) == unit().numel);
  return memory().Encode(Active(), worker, gradient, SenderContext(worker));
}

Message CodecExchange::ChosenMessage(int worker) {
  const std::span<float> held = memory().Held(worker);
  if (whole_) {
    Message message = DenseCodec().Encode(held, SenderContext(worker));
    std::ranges::fill(held, 0.0f);
    return message;
  }
  const Selection& selection = levels_->At(worker, chosen_, held, SenderContext(worker));
  std::vector<float> decoded;
  Message message =
      setup_.codec->Sparse()->Pack(selection, unit().numel, SenderContext(worker), &decoded);
  for (size_t i = 0; i < decoded.size(); ++i) {
    held[selection.positions[i]] = selection.values[i] - decoded[i];
  }
  memory().MarkSent(worker, selection.positions);
  return message;
}

void CodecExchange::Accumulate([[maybe_unused]] int worker, ByteSpan message) {
  assert(worker == Participant(accumulated_));
  if (round_ == kLengthsRound) {
    lengths_.push_back(NumberOf(message));
  } else {
    if (!lengths_.empty()) CheckLength(message, lengths_[accumulated_]);
    Active().DecodeAdd(message, SharedContext(), sum_);
    sent_ += ReadHeader(message).count;
  }
  ++accumulated_;
}

void CodecExchange::FinishRound() {
  assert(accumulated_ == Participants());
  accumulated_ = 0;
  if (round_++ == kLengthsRound || !setup_.requantise || whole_) return;
  cpu::Scale(sum_, 1.0f / divisor_);
  divisor_ = 1;
  const auto& quantiser = static_cast<const QuantiserCodec&>(*setup_.codec).quantiser();
  Requantise(quantiser, Participants(), workers(), SharedContext(), sum_);
}

void CodecExchange::Mean(std::span<float> out) const {
  assert(out.size() == sum_.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = sum_[i] / divisor_;
}

int64_t CodecExchange::ElementsSent() const {
  if (round_ == kDone && !lengths_.empty()) {
    return (sent_ + Participants() / 2) / Participants();
  }
  return Active().ElementsSent(unit().numel, step().parameter);
}

}  // namespace legacy
