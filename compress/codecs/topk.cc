#include "compress/cpu/topk.h"

#include "compress/codecs/codecs.h"
#include "compress/codecs/common.h"

namespace legacy {
namespace {

Header TopKHeader(uint32_t unit, int64_t numel, int64_t count, IndexCoding coding) {
  return {.codec = static_cast<uint8_t>(CodecId::kTopK),
          .index = coding,
          .unit = unit,
          .numel = static_cast<uint32_t>(numel),
          .count = static_cast<uint32_t>(count)};
}

}  // namespace

IndexCoding PositionCoding(std::optional<IndexCoding> forced, int64_t numel, int64_t count) {
  if (count == numel) return IndexCoding::kNone;
  return forced.value_or(ShortestIndexCoding(numel, count));
}

const ParameterSpec& TopKCodec::Parameter() const { return DensityParameter(); }

int64_t TopKCodec::ElementsSent(int64_t numel, double density) const {
  return KeptCount(numel, density);
}

std::optional<int64_t> TopKCodec::MessageBytes(const Unit& unit, double density) const {
  const int64_t count = KeptCount(unit.numel, density);
  const IndexCoding coding = PositionCoding(index_, unit.numel, count);
  if (coding == IndexCoding::kDelta) return std::nullopt;
  return kHeaderBytes + IndexBytes(coding, unit.numel, count) + int64_t{sizeof(float)} * count;
}

Work TopKCodec::EncodeWork(int64_t numel, double) const { return {"topk.encode", numel, 1}; }

Work TopKCodec::DecodeWork(int64_t numel, double density) const {
  return {"sparse.decode", KeptCount(numel, density), 1};
}

Message TopKCodec::Pack(std::span<const float> values, std::span<const uint32_t> kept,
                        const CodecContext& context) const {
  const auto numel = static_cast<int64_t>(values.size());
  const auto count = static_cast<int64_t>(kept.size());
  const IndexCoding coding = PositionCoding(index_, numel, count);
  constexpr int64_t kLongest =
      sizeof(uint32_t) + 1 + sizeof(float);  // a varint takes up to 5 bytes
  Message message = StartMessage(TopKHeader(context.unit, numel, count, coding), kLongest * count);
  WriteIndices(coding, numel, kept, message.bytes);
  std::vector<float> sent(kept.size());
  for (size_t i = 0; i < kept.size(); ++i) sent[i] = values[kept[i]];
  AppendFloats(sent, message.bytes);
  return message;
}

Message TopKCodec::Encode(std::span<const float> values, const CodecContext& context) const {
  CheckParameter(Parameter(), context.parameter);
  CheckFinite(values, context.unit);
  const int64_t count = KeptCount(CheckedNumel(values), context.parameter);
  return Pack(values, cpu::SelectTopK(values, count), context);
}

Message TopKCodec::EncodeResidual(std::span<float> values, const CodecContext& context) const {
  CheckParameter(Parameter(), context.parameter);
  CheckFinite(values, context.unit);
  const auto kept = cpu::SelectTopK(values, KeptCount(CheckedNumel(values), context.parameter));
  Message message = Pack(values, kept, context);
  cpu::ClearAt(values, kept);
  return message;
}

void TopKCodec::DecodeAdd(ByteSpan message, const CodecContext& context,
                          std::span<float> sum) const {
  const int64_t numel = CheckedNumel(sum);
  const int64_t count = KeptCount(numel, context.parameter);
  const IndexCoding coding = PositionCoding(index_, numel, count);
  const Header expected = TopKHeader(context.unit, numel, count, coding);
  ByteSpan rest = CheckedPayload(message, expected);
  std::vector<uint32_t> positions;
  if (coding != IndexCoding::kNone) positions = ReadIndices(coding, numel, count, rest);
  CheckLength(rest, int64_t{sizeof(float)} * count);
  CheckFiniteSegment(rest);
  if (coding == IndexCoding::kNone) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += FloatAt(rest, i);
    return;
  }
  for (size_t i = 0; i < positions.size(); ++i) sum[positions[i]] += FloatAt(rest, i);
}

}  // namespace legacy
