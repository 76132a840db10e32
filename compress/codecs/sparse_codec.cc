#include "compress/codecs/sparse_codec.h"

#include <cassert>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/codecs/quantiser_codec.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"

namespace legacy {
namespace {

// After a sparsifier, a quantiser's parameter is its default.
double ParameterOf(const Quantiser& quantiser) { return quantiser.Parameter().fallback; }

}  // namespace

void AddTo(const Selection& selection, std::span<float> sum) {
  const auto& [positions, values] = selection;
  if (positions.empty()) return cpu::Add(values, sum.first(values.size()));
  for (size_t i = 0; i < positions.size(); ++i) sum[positions[i]] += values[i];
}

const OptionSpec& IndexOption() {
  static const OptionSpec option = {
      "index", "auto", "auto, u16, u32, bitmap, packed, delta",
      "coding of the positions; auto: the shortest whose length is known beforehand"};
  return option;
}

IndexCoding PositionCoding(std::optional<IndexCoding> forced, int64_t numel, int64_t count) {
  if (count == numel) return IndexCoding::kNone;
  return forced.value_or(ShortestIndexCoding(numel, count));
}

Work PositionsWork(std::optional<IndexCoding> forced, int64_t numel, int64_t count) {
  const bool bitmap = PositionCoding(forced, numel, count) == IndexCoding::kBitmap;
  return bitmap ? Work{"bitmap.decode", numel} : Work{"", 0, 0, 0};
}

SparseCodec::SparseCodec(std::unique_ptr<Sparsifier> sparsifier,
                         std::unique_ptr<Quantiser> quantiser, std::optional<IndexCoding> index)
    : sparsifier_(std::move(sparsifier)),
      quantiser_(std::move(quantiser)),
      index_(index),
      name_(sparsifier_->Name()) {
  if (quantiser_->Type() != ValueType::kFloat32) name_.append("+").append(quantiser_->Name());
  if (!sparsifier_->Traits().own_quantiser.empty()) whole_ = MakeQuantiser({"fp32"});
}

int64_t SparseCodec::Count(int64_t numel, double parameter) const {
  const bool density = Parameter().Kind() == ParameterKind::kDensity;
  return density ? KeptCount(numel, parameter) : numel;
}

bool SparseCodec::SendsAll(int64_t numel, int64_t count) const {
  if (count == numel || sparsifier_->SendsWhole(numel)) return true;
  if (!sparsifier_->Traits().fixed_count || sparsifier_->Traits().shared_support || index_)
    return false;
  const auto kept = quantiser_->SegmentBytes(count, ParameterOf(*quantiser_));
  const auto all = quantiser_->SegmentBytes(numel, ParameterOf(*quantiser_));
  return kept && all && *kept + IndexBytes(ShortestIndexCoding(numel, count), numel, count) >= *all;
}

std::optional<int64_t> SparseCodec::FixedCount(int64_t numel, double parameter) const {
  if (!sparsifier_->Traits().fixed_count && !sparsifier_->SendsWhole(numel)) return std::nullopt;
  return ElementsSent(numel, parameter);
}

int64_t SparseCodec::Wanted(int64_t numel, double parameter) const {
  return FixedCount(numel, parameter).value_or(Count(numel, parameter));
}

bool SparseCodec::Linear(int64_t numel, double parameter) const {
  if (!Values(numel).Linear()) return false;
  return sparsifier_->Traits().shared_support || FixedCount(numel, parameter) == numel;
}

bool SparseCodec::AllowsErrorFeedback(double) const {
  const bool own = sparsifier_->Traits().own_quantiser == quantiser_->Name();
  return sparsifier_->Traits().allows_error_feedback &&
         (own || quantiser_->AllowsErrorFeedback(ParameterOf(*quantiser_)));
}

int64_t SparseCodec::ElementsSent(int64_t numel, double parameter) const {
  const int64_t count = Count(numel, parameter);
  return SendsAll(numel, count) ? numel : count;
}

std::optional<int64_t> SparseCodec::MessageBytes(const Unit& unit, double parameter) const {
  const auto count = FixedCount(unit.numel, parameter);
  if (!count) return std::nullopt;
  const Quantiser& values = Values(unit.numel);
  const auto segment = values.SegmentBytes(*count, ParameterOf(values));
  if (!segment) return std::nullopt;
  const int64_t header = HeaderBytes(values.Type());
  if (sparsifier_->Traits().shared_support) return header + *segment;
  const IndexCoding coding = PositionCoding(index_, unit.numel, *count);
  if (coding == IndexCoding::kDelta) return std::nullopt;
  return header + IndexBytes(coding, unit.numel, *count) + *segment;
}

WorkList SparseCodec::EncodeWork(int64_t numel, const CodecContext& context) const {
  if (IsWhole(numel, context.parameter)) {
    const Quantiser& values = Values(numel);
    return QuantiseWork(values, numel, ParameterOf(values));
  }
  WorkList work =
      WorkOf(*sparsifier_, "EncodeWork", [&] { return sparsifier_->EncodeWork(numel, context); });
  if (!CountVaries(numel, context.parameter)) {
    AddWork(PackWork(ElementsSent(numel, context.parameter), Feeding::kNone), work);
  }
  return work;
}

WorkList SparseCodec::DecodeWork(int64_t numel, double parameter) const {
  if (IsWhole(numel, parameter)) {
    const Quantiser& values = Values(numel);
    return DequantiseWork(values, numel, ParameterOf(values));
  }
  const int64_t count = ElementsSent(numel, parameter);
  WorkList work = UnpackWork(count);
  if (!sparsifier_->Traits().shared_support) AddWork(PositionsWork(index_, numel, count), work);
  return work;
}

WorkList SparseCodec::FinishWork(int64_t numel, double parameter) const {
  if (IsWhole(numel, parameter)) return Codec::FinishWork(numel, parameter);
  return {{"sparse.sum", numel}};  // sums of shared positions are also stored at their places
}

WorkList SparseCodec::FeedbackWork(int64_t numel, double parameter, Feeding feeding) const {
  if (IsWhole(numel, parameter)) return QuantiserFeedbackWork(Values(numel), numel);
  WorkList work;
  if (feeding == Feeding::kGradient) work = sparsifier_->SumWork(numel);
  if (!CountVaries(numel, parameter)) {
    AddWork(ResidualWork(ElementsSent(numel, parameter), feeding), work);
  }
  return work;
}

// Copies positions and values from list to list and writes them, 32 bytes each. Positions that all
// workers draw identically are not sent.
WorkList SparseCodec::PackWork(int64_t count, Feeding feeding) const {
  WorkList work;
  if (!sparsifier_->Traits().shared_support) work = {{"sparse.encode", count}, Moved(32 * count)};
  if (quantiser_->Type() != ValueType::kFloat32 || sparsifier_->Traits().shared_support) {
    AddWork(QuantiseWork(*quantiser_, count, ParameterOf(*quantiser_)), work);
  }
  AddWork(ResidualWork(count, feeding), work);
  return work;
}

// Clears sent values in the residual, and stores the errors of quantised values. If the selecting
// pass clears values, each takes a write of most of a sector of 32 bytes.
WorkList SparseCodec::ResidualWork(int64_t count, Feeding feeding) const {
  if (feeding == Feeding::kNone) return {};
  WorkList work;
  const Work store = {"entries.store", count};
  AddWork(sparsifier_->TakesOut(feeding) ? Moved(24 * count) : store, work);
  if (quantiser_->Type() != ValueType::kFloat32) AddWork(store, work);
  return work;
}

WorkList SparseCodec::UnpackWork(int64_t count) const {
  const bool shared = sparsifier_->Traits().shared_support;
  WorkList work = {{shared ? "randomk.decode" : "sparse.decode", count}};
  if (quantiser_->Type() != ValueType::kFloat32 || shared) {
    AddWork(DequantiseWork(*quantiser_, count, ParameterOf(*quantiser_)), work);
  }
  return work;
}

WorkList SparseCodec::ErrorWork(int64_t numel, std::span<const double> parameters) const {
  if (quantiser_->Type() != ValueType::kFloat32) return Codec::ErrorWork(numel, parameters);
  return sparsifier_->ErrorWork(numel, parameters);
}

Header SparseCodec::HeaderOf(int64_t numel, int64_t count, const CodecContext& context) const {
  const IndexCoding coding = sparsifier_->Traits().shared_support
                                 ? IndexCoding::kNone
                                 : PositionCoding(index_, numel, count);
  return {.codec = static_cast<uint8_t>(sparsifier_->Id()),
          .index = coding,
          .values = Values(numel).Type(),
          .unit = context.unit,
          .numel = static_cast<uint32_t>(numel),
          .count = static_cast<uint32_t>(count)};
}

Message SparseCodec::Pack(const Selection& selection, int64_t numel, const CodecContext& context,
                          std::vector<float>* decoded) const {
  const auto count = static_cast<int64_t>(selection.positions.size());
  const Header header = HeaderOf(numel, count, context);
  // A varint takes up to 5 bytes.
  constexpr int64_t kLongest = sizeof(uint32_t) + 1 + sizeof(float);
  Message message = StartMessage(header, kLongest * count);
  if (header.index != IndexCoding::kNone) {
    WriteIndices(header.index, numel, selection.positions, message.bytes);
  }
  const auto begin = message.bytes.size();
  const Quantiser& values = Values(numel);
  EncodeSegment(values, selection.values, ParameterOf(values), context, message.bytes);
  if (decoded != nullptr) {
    decoded->resize(selection.values.size());
    DecodeSegment(values, ByteSpan(message.bytes).subspan(begin), ParameterOf(values), *decoded);
  }
  return message;
}

Selection SparseCodec::Select(std::span<const float> values, const CodecContext& context) const {
  CheckParameter(Parameter(), context.parameter);
  const int64_t numel = CheckedNumel(values);
  const int64_t count = Wanted(numel, context.parameter);
  Selection selection =
      InPlugin(*sparsifier_, "Select", [&] { return sparsifier_->Select(values, count, context); });
  CheckSelection(*sparsifier_, selection, numel, FixedCount(numel, context.parameter));
  return selection;
}

Selection SparseCodec::SelectWithFeedback(std::span<const float> gradient,
                                          std::span<float> residual,
                                          const CodecContext& context) const {
  CheckParameter(Parameter(), context.parameter);
  const int64_t numel = CheckedNumel(residual);
  const int64_t count = Wanted(numel, context.parameter);
  Selection selection = InPlugin(*sparsifier_, "SelectWithFeedback", [&] {
    return sparsifier_->SelectWithFeedback(gradient, residual, count, context);
  });
  CheckSelection(*sparsifier_, selection, numel, FixedCount(numel, context.parameter));
  return selection;
}

Message SparseCodec::Encode(std::span<const float> values, const CodecContext& context) const {
  return Pack(Select(values, context), CheckedNumel(values), context);
}

Message SparseCodec::EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                        const CodecContext& context,
                                        std::vector<uint32_t>* sent) const {
  const int64_t numel = CheckedNumel(residual);
  Selection selection = SelectWithFeedback(gradient, residual, context);
  const bool exact = Values(numel).Type() == ValueType::kFloat32;
  std::vector<float> decoded;
  Message message = Pack(selection, numel, context, exact ? nullptr : &decoded);
  for (size_t i = 0; i < decoded.size(); ++i) {
    residual[selection.positions[i]] = selection.values[i] - decoded[i];
  }
  if (sent != nullptr) {
    *sent = static_cast<int64_t>(selection.positions.size()) == numel
                ? std::vector<uint32_t>{}
                : std::move(selection.positions);
  }
  return message;
}

Selection SparseCodec::Unpack(int64_t numel, int64_t count, const CodecContext& context,
                              ByteSpan& bytes) const {
  ByteSpan rest = CheckedPayload(bytes, HeaderOf(numel, count, context));
  Selection selection;
  if (!sparsifier_->Traits().shared_support && count != numel) {
    selection.positions = ReadIndices(PositionCoding(index_, numel, count), numel, count, rest);
  }
  const Quantiser& quantiser = Values(numel);
  // The length is checked before memory is allocated for an untrusted count.
  const int64_t length =
      quantiser.SegmentBytes(count, ParameterOf(quantiser)).value_or(std::ssize(rest));
  if (std::ssize(rest) < length) CheckLength(rest, length);  // throws
  selection.values.resize(static_cast<size_t>(count));
  DecodeSegment(quantiser, rest.first(static_cast<size_t>(length)), ParameterOf(quantiser),
                selection.values);
  bytes = rest.subspan(static_cast<size_t>(length));
  return selection;
}

void SparseCodec::DecodeAdd(ByteSpan message, const CodecContext& context,
                            std::span<float> sum) const {
  const int64_t numel = CheckedNumel(sum);
  const auto fixed = FixedCount(numel, context.parameter);
  const int64_t count = fixed ? *fixed : int64_t{ReadHeader(message).count};
  Selection selection = Unpack(numel, count, context, message);
  if (!message.empty()) {
    throw Error("message: bytes after its values", std::to_string(message.size()), "0");
  }
  if (sparsifier_->Traits().shared_support) {
    selection.positions = sparsifier_->Support(numel, count, context);
  }
  AddTo(selection, sum);
}

std::vector<double> SparseCodec::SquaredErrors(std::span<const float> values,
                                               std::span<const double> parameters,
                                               const CodecContext& context) const {
  if (quantiser_->Type() != ValueType::kFloat32) {
    return Codec::SquaredErrors(values, parameters, context);
  }
  const auto numel = static_cast<int64_t>(values.size());
  std::vector<double> errors = sparsifier_->SquaredErrors(values, parameters, context);
  for (size_t i = 0; i < errors.size(); ++i) {
    if (ElementsSent(numel, parameters[i]) == numel && FixedCount(numel, parameters[i])) {
      errors[i] = 0;
    }
  }
  return errors;
}

}  // namespace legacy
