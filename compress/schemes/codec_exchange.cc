#include "compress/schemes/codec_exchange.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/hash.h"
#include "compress/checks.h"
#include "compress/codecs/quantiser_codec.h"
#include "compress/cpu/vector.h"
#include "compress/schemes/hops/quantised_hops.h"
#include "compress/schemes/hops/ring_sum.h"
#include "compress/schemes/requantise.h"

namespace legacy {

const Codec& DenseCodec() {
  static const std::unique_ptr<const Codec> codec = MakeCodec("dense");
  return *codec;
}

CodecExchange::CodecExchange(CodecExchangeSetup setup, const Unit& unit, int workers)
    : ExchangeBase(setup.scheme, unit, workers, MemoryOf(setup.memory, setup.whole)),
      setup_(std::move(setup)),
      waiting_(workers),
      own_(workers),
      values_(workers) {
  if (const SparseCodec* sparse = setup_.codec->Sparse()) {
    candidates_.emplace(*sparse, unit.numel, workers);
  }
}

const Codec& CodecExchange::Active() const { return whole_ ? DenseCodec() : *setup_.codec; }

void CodecExchange::Begin(const UnitStep& context) {
  SetStep(context);
  whole_ = setup_.whole;
  if (!context.candidates.empty()) {
    if (!candidates_) return Exchange::Choose(0);  // throws
    candidates_->Begin(context.candidates, context.estimate);
    SetParameter(context.candidates.front());
  }
  CheckCodecStep(*setup_.codec, step().parameter, !whole_ && memory().Keeps());
  sum_.assign(Active().SumSize(unit().numel), 0.0f);
  divisor_ = static_cast<float>(ActiveWorkers());
  call_ = kLengthsCall;
  lengths_.clear();
  accumulated_ = 0;
  sent_ = 0;
}

Probe CodecExchange::Measure(int worker, std::span<const float> gradient) {
  if (!candidates_) return Exchange::Measure(worker, gradient);
  assert(!step().candidates.empty());
  return candidates_->Measure(worker, memory().Compensate(worker, gradient), SharedContext(),
                              whole_);
}

void CodecExchange::Choose(size_t index) {
  if (!candidates_) return Exchange::Choose(index);
  assert(index < step().candidates.size());
  chosen_ = index;
  SetParameter(step().candidates[index]);
  whole_ = setup_.whole || candidates_->SendsAll(index);
}

CodecStep CodecExchange::Current() const {
  return {.codec = Active(),
          .unit = unit(),
          .parameter = step().parameter,
          .active_workers = ActiveWorkers(),
          .selected = !step().candidates.empty() && !step().estimate,  // in Measure
          .summing = SummingNow(),
          .slice = setup_.slice,
          .workers = workers(),
          .memory = MemoryOf(setup_.memory, setup_.whole)};
}

std::optional<CollectiveCall> CodecExchange::NextCall() {
  if (call_ == kDone) return std::nullopt;
  if (CodecStep now = Current(); call_ == kLengthsCall && now.SendsLengths()) {
    if (step().candidates.empty()) now.sender = SenderContext(ActiveWorker(0));
    return now.Lengths();
  }
  call_ = kMessagesCall;
  return Current().Messages(lengths_.empty() ? std::nullopt : std::optional(WaitingValues()));
}

int64_t CodecExchange::WaitingValues() const {
  int64_t values = 0;
  for (int i = 0; i < ActiveWorkers(); ++i) {
    values += values_[ActiveWorker(i)];
  }
  return values;
}

Message CodecExchange::Encode(int worker, std::span<const float> gradient) {
  if (call_ == kLengthsCall) {
    waiting_[worker] = MakeMessage(worker, gradient);
    values_[worker] = ValuesIn(waiting_[worker].bytes);
    return NumberMessage(static_cast<uint32_t>(waiting_[worker].size()));
  }
  return lengths_.empty() ? MakeMessage(worker, gradient) : std::move(waiting_[worker]);
}

Message CodecExchange::MakeMessage(int worker, std::span<const float> gradient) {
  if (!step().candidates.empty()) return ChosenMessage(worker);
  assert(static_cast<int64_t>(gradient.size()) == unit().numel);
  const Codec& codec = Active();
  const auto order = HopOrderOf(SummingNow());
  if (order) own_[worker] = memory().ErrorFed(worker, gradient);
  Message message = InPlugin(codec, "Encode", [&] {
    return memory().Encode(codec, worker, gradient, SenderContext(worker));
  });
  if (!codec.plugin().empty()) CheckPlugin(codec, message);
  if (order) KeepFirst(*order, worker);
  return message;
}

// Errors of other values are those of hops, which have no owner.
void CodecExchange::KeepFirst(HopOrder order, int worker) {
  const std::span<float> residual = memory().MutableResidual(worker);
  if (residual.empty()) return;
  HopRange first;
  if (setup_.owner) {
    const auto [owner, owners] = *setup_.owner;
    if (SendsOwnFirst(order, worker % owners, owner, owners)) first.end = unit().numel;
  } else {
    first = FirstHop(order, worker, workers(),
                     QuantisedPieces(*setup_.codec, unit().numel, order, workers()));
  }
  std::ranges::fill(residual.first(first.begin), 0.0f);
  std::ranges::fill(residual.subspan(first.end), 0.0f);
}

// Checks that the length equals the one that the codec gave beforehand.
void CodecExchange::CheckPlugin(const Codec& codec, const Message& message) const {
  const auto said = codec.MessageBytes(unit(), step().parameter);
  if (said && *said != message.size()) {
    BlamePlugin(codec, "Encode made " + std::to_string(message.size()) +
                           " bytes, MessageBytes said " + std::to_string(*said));
  }
}

Message CodecExchange::ChosenMessage(int worker) {
  const std::span<float> residual = memory().MutableResidual(worker);
  if (whole_) {
    Message message = DenseCodec().Encode(residual, SenderContext(worker));
    std::ranges::fill(residual, 0.0f);
    return message;
  }
  const Selection& selection = candidates_->At(worker, chosen_, residual, SenderContext(worker));
  std::vector<float> decoded;
  Message message =
      setup_.codec->Sparse()->Pack(selection, unit().numel, SenderContext(worker), &decoded);
  for (size_t i = 0; i < decoded.size(); ++i) {
    residual[selection.positions[i]] = selection.values[i] - decoded[i];
  }
  memory().MarkSent(worker, selection.positions);
  return message;
}

void CodecExchange::Accumulate([[maybe_unused]] int worker, ByteSpan message) {
  assert(worker == ActiveWorker(accumulated_));
  if (call_ == kLengthsCall) {
    lengths_.push_back(NumberOf(message));
  } else {
    if (!lengths_.empty()) CheckLength(message, lengths_[accumulated_]);
    if (AddsByHops()) {
      OwnQuantiserCodec().CheckedSegment(message, SharedContext(), unit().numel);
      waiting_[worker].bytes.assign(message.begin(), message.end());
    } else {
      InPlugin(Active(), "Accumulate",
               [&] { Active().Accumulate(message, unit().numel, SharedContext(), sum_); });
    }
    sent_ += ValuesIn(message);
  }
  ++accumulated_;
}

// The work of finding values depends on the numbers of the first active worker's codec, and that of
// packing them on how many there are. Both are described before messages travel. Hops add values
// that no message has.
void CodecExchange::WriteNotes(int worker, StateWriter& out) const {
  if (HopOrderOf(setup_.summing)) {
    out.Number(own_[worker].size());
    out.Floats(own_[worker]);
  }
  if (!Current().SendsLengths()) return;
  out.Number(static_cast<uint64_t>(values_[worker]));
  for (const double number : StateOf(worker).numbers) {
    out.Number(std::bit_cast<uint64_t>(number));
  }
}

void CodecExchange::ReadNotes(int worker, StateReader& in) {
  if (HopOrderOf(setup_.summing)) {
    own_[worker] = in.Floats(in.Number("values of a worker", static_cast<uint64_t>(unit().numel)));
  }
  if (!Current().SendsLengths()) return;
  values_[worker] = static_cast<int64_t>(in.Number("values of a message", kMaxUnitElements));
  for (double& number : StateOf(worker).numbers) number = std::bit_cast<double>(in.Number());
}

void CodecExchange::FinishCall() {
  assert(accumulated_ == ActiveWorkers());
  accumulated_ = 0;
  if (call_++ == kLengthsCall) return;
  if (SummingNow() == Summing::kHops) AddAlongRing();
  if (const auto order = HopOrderOf(SummingNow())) AddAndEncodeAgain(*order);
  if (setup_.summing != Summing::kRequantise || whole_) return;
  cpu::Scale(sum_, 1.0f / divisor_);
  divisor_ = 1;
  const Quantiser& quantiser = OwnQuantiserCodec().quantiser();
  Requantise(quantiser, quantiser.Bucket(), ActiveWorkers(), workers(), SharedContext(), sum_);
}

// The scheme has checked that its codec is a quantiser.
const QuantiserCodec& CodecExchange::OwnQuantiserCodec() const {
  return static_cast<const QuantiserCodec&>(*setup_.codec);
}

void CodecExchange::AddAlongRing() {
  std::vector<ByteSpan> segments;
  for (int i = 0; i < ActiveWorkers(); ++i) {
    segments.push_back(ByteSpan(waiting_[ActiveWorker(i)].bytes).subspan(kHeaderBytes));
  }
  RingSum(*OwnQuantiserCodec().quantiser().Parts(), segments, sum_);
  for (Message& message : waiting_) message = {};
}

// Workers that are not active add zeros.
void CodecExchange::AddAndEncodeAgain(HopOrder order) {
  const std::vector<float> zeros(unit().numel);
  std::vector<ByteSpan> messages;
  std::vector<std::span<const float>> own;
  for (int w = 0; w < workers(); ++w) {
    messages.emplace_back(waiting_[w].bytes);
    own.emplace_back(waiting_[w].bytes.empty() ? zeros : own_[w]);
  }
  if (setup_.owner) {
    AddForOwners(order, messages, own);
  } else {
    const Quantiser& quantiser = OwnQuantiserCodec().quantiser();
    const QuantiserHops coder(quantiser, SharedContext(), unit().numel, messages);
    const auto pieces = HopRanges(unit().numel, coder.Block(), HopPieces(order, workers()));
    GatherPieces(coder, pieces, ReduceByHops(order, coder, own, pieces), sum_);
  }
  for (Message& message : waiting_) message = {};
  for (std::vector<float>& values : own_) values.clear();
}

// Adds the sums of all copies of the model. Each draws for itself; a single worker stands for all.
void CodecExchange::AddForOwners(HopOrder order, std::span<const ByteSpan> messages,
                                 std::span<const std::span<const float>> own) {
  const int owners = std::min(setup_.owner->owners, workers());
  for (int first = 0; first < workers(); first += owners) {
    CodecContext context = SharedContext();
    if (first > 0) {
      context.random.seed = HashWords({context.random.seed, static_cast<uint64_t>(first)});
    }
    const QuantiserHops coder(OwnQuantiserCodec().quantiser(), context, unit().numel,
                              messages.subspan(static_cast<size_t>(first), owners));
    std::vector<float> sum =
        SumOfOwner(order, coder, own.subspan(static_cast<size_t>(first), owners),
                   setup_.owner->worker % owners);
    if (first > 0) {
      cpu::Add(sum, sum_);
    } else {
      sum_ = std::move(sum);
    }
  }
}

void CodecExchange::Mean(std::span<float> out) const {
  assert(static_cast<int64_t>(out.size()) == unit().numel);
  Active().MeanOf(sum_, divisor_, SharedContext(), out);
}

int64_t CodecExchange::ElementsSent() const {
  const bool counted = call_ == kDone && !lengths_.empty();
  return Current().ElementsSent(counted ? std::optional(sent_) : std::nullopt);
}

}  // namespace legacy
