#include <algorithm>

#include "compress/codecs/codecs.h"
#include "compress/codecs/common.h"

namespace legacy {
namespace {

Header DenseHeader(uint32_t unit, uint32_t numel) {
  return {
      .codec = static_cast<uint8_t>(CodecId::kDense), .unit = unit, .numel = numel, .count = numel};
}

}  // namespace

const ParameterSpec& DenseCodec::Parameter() const { return NoParameter(); }

std::optional<int64_t> DenseCodec::MessageBytes(const Unit& unit, double) const {
  return kHeaderBytes + int64_t{sizeof(float)} * unit.numel;
}

// The gradient is sent from where it lies; the mean is copied back to it.
Work DenseCodec::EncodeWork(int64_t, double) const { return {"", 0, 0}; }
Work DenseCodec::DecodeWork(int64_t numel, double) const { return {"copy", numel, 1}; }

Message DenseCodec::Encode(std::span<const float> values, const CodecContext& context) const {
  CheckFinite(values, context.unit);
  Message message = StartMessage(DenseHeader(context.unit, CheckedNumel(values)),
                                 static_cast<int64_t>(values.size_bytes()));
  AppendFloats(values, message.bytes);
  return message;
}

Message DenseCodec::EncodeResidual(std::span<float> values, const CodecContext& context) const {
  Message message = Encode(values, context);
  std::ranges::fill(values, 0.0f);
  return message;
}

void DenseCodec::DecodeAdd(ByteSpan message, const CodecContext& context,
                           std::span<float> sum) const {
  const ByteSpan segment = CheckedPayload(message, DenseHeader(context.unit, CheckedNumel(sum)),
                                          static_cast<int64_t>(sum.size_bytes()));
  CheckFiniteSegment(segment);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += FloatAt(segment, i);
}

}  // namespace legacy
