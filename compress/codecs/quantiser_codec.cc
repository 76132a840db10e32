#include "compress/codecs/quantiser_codec.h"

#include <algorithm>
#include <array>

#include "compress/checks.h"
#include "compress/cpu/vector.h"

namespace legacy {
namespace {

Header HeaderOf(const Quantiser& quantiser, uint32_t unit, uint32_t numel) {
  return {.codec = static_cast<uint8_t>(CodecId::kDense),
          .values = quantiser.Type(),
          .unit = unit,
          .numel = numel,
          .count = numel};
}

// Calls body(first, values) for the values of a checked segment: in parts that stay in the cache,
// or for all values at once if the quantiser does not decode parts; it then checks them itself.
template <typename Body>
void ForDecoded(const Quantiser& quantiser, ByteSpan segment, double parameter, int64_t count,
                Body body) {
  const PartwiseQuantiser* parts = quantiser.Parts();
  if (parts == nullptr) {
    std::vector<float> values(count);
    DecodeSegment(quantiser, segment, parameter, values);
    return body(0, values);
  }
  std::array<float, PartwiseQuantiser::kPart> buffer;
  for (int64_t begin = 0; begin < count; begin += PartwiseQuantiser::kPart) {
    const auto values = std::span(buffer).first(std::min(PartwiseQuantiser::kPart, count - begin));
    parts->DecodePart(segment, count, parameter, begin, values);
    body(begin, values);
  }
}

// Marks work so that units whose values take different numbers of bits share no launches.
WorkList Alike(WorkList work, double parameter) {
  for (Work& entry : work) entry.alike = static_cast<int64_t>(parameter);
  return work;
}

}  // namespace

// Each quantiser has a kernel that decodes its own codes; casts and plugins share one.
WorkList QuantiserFeedbackWork(const Quantiser& quantiser, int64_t numel) {
  if (quantiser.Linear() || !quantiser.plugin().empty()) return {{"feedback", numel}};
  return {{std::string(quantiser.KernelName()) + ".feedback", numel}};
}

QuantiserCodec::QuantiserCodec(std::unique_ptr<Quantiser> quantiser)
    : quantiser_(std::move(quantiser)),
      name_(quantiser_->Type() == ValueType::kFloat32 ? "dense" : quantiser_->Name()) {}

bool QuantiserCodec::AllowsErrorFeedback(double parameter) const {
  return quantiser_->AllowsErrorFeedback(parameter);
}

std::optional<int64_t> QuantiserCodec::MessageBytes(const Unit& unit, double parameter) const {
  const auto segment = quantiser_->SegmentBytes(unit.numel, parameter);
  return segment ? std::optional(HeaderBytes(quantiser_->Type()) + *segment) : std::nullopt;
}

WorkList QuantiserCodec::EncodeWork(int64_t numel, const CodecContext& context) const {
  return Alike(QuantiseWork(*quantiser_, numel, context.parameter), context.parameter);
}

WorkList QuantiserCodec::DecodeWork(int64_t numel, double parameter) const {
  return Alike(DequantiseWork(*quantiser_, numel, parameter), parameter);
}

WorkList QuantiserCodec::FeedbackWork(int64_t numel, double, Feeding) const {
  return QuantiserFeedbackWork(*quantiser_, numel);
}

// The closed form makes as many passes as encoding does, and writes no message.
WorkList QuantiserCodec::ErrorWork(int64_t numel, std::span<const double> parameters) const {
  WorkList work;
  for (const double parameter : parameters) {
    AddWork(quantiser_->ErrorWork(numel, parameter), work);
  }
  return work;
}

Message QuantiserCodec::Encode(std::span<const float> values, const CodecContext& context) const {
  CheckParameter(Parameter(), context.parameter);
  CheckFinite(values, context.unit);
  const auto numel = static_cast<int64_t>(values.size());
  const Header header = HeaderOf(*quantiser_, context.unit, CheckedNumel(values));
  Message message =
      StartMessage(header, quantiser_->SegmentBytes(numel, context.parameter).value_or(numel));
  EncodeSegment(*quantiser_, values, context.parameter, context, message.bytes);
  return message;
}

// The message is the worker's own, so its values are decoded in parts without another check.
Message QuantiserCodec::EncodeWithFeedback(std::span<const float> gradient,
                                           std::span<float> residual, const CodecContext& context,
                                           std::vector<uint32_t>* sent) const {
  if (!gradient.empty()) cpu::Add(gradient, residual);
  Message message = Encode(residual, context);
  const ByteSpan segment = ByteSpan(message.bytes).subspan(HeaderBytes(quantiser_->Type()));
  ForDecoded(*quantiser_, segment, context.parameter, std::ssize(residual),
             [&](int64_t begin, std::span<const float> values) {
               cpu::Subtract(values, residual.subspan(begin, values.size()));
             });
  if (sent != nullptr) sent->clear();
  return message;
}

bool QuantiserCodec::SumsByHops() const {
  const ValueType type = quantiser_->Type();
  return type == ValueType::kFloat16 || type == ValueType::kBfloat16;
}

ByteSpan QuantiserCodec::CheckedSegment(ByteSpan message, const CodecContext& context,
                                        int64_t numel) const {
  const ByteSpan segment =
      CheckedPayload(message, HeaderOf(*quantiser_, context.unit, static_cast<uint32_t>(numel)));
  if (const PartwiseQuantiser* parts = quantiser_->Parts()) {
    parts->Check(segment, numel, context.parameter);
  }
  return segment;
}

void QuantiserCodec::DecodeAdd(ByteSpan message, const CodecContext& context,
                               std::span<float> sum) const {
  const ByteSpan segment = CheckedSegment(message, context, CheckedNumel(sum));
  ForDecoded(*quantiser_, segment, context.parameter, std::ssize(sum),
             [&](int64_t begin, std::span<const float> values) {
               cpu::Add(values, sum.subspan(begin, values.size()));
             });
}

std::vector<double> QuantiserCodec::SquaredErrors(std::span<const float> values,
                                                  std::span<const double> parameters,
                                                  const CodecContext&) const {
  std::vector<double> errors;
  for (const double parameter : parameters) {
    errors.push_back(quantiser_->SquaredError(values, parameter));
  }
  return errors;
}

}  // namespace legacy
