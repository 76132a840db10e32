#include <vector>

#include "compress/codecs/codecs.h"
#include "compress/codecs/common.h"
#include "compress/cpu/cast.h"
#include "compress/cpu/vector.h"
#include "compress/error.h"

namespace legacy {
namespace {

Header Float16Header(uint32_t unit, uint32_t numel) {
  return {.codec = static_cast<uint8_t>(CodecId::kFloat16),
          .values = ValueType::kFloat16,
          .unit = unit,
          .numel = numel,
          .count = numel};
}

}  // namespace

const ParameterSpec& Float16Codec::Parameter() const { return NoParameter(); }

std::optional<int64_t> Float16Codec::MessageBytes(const Unit& unit, double) const {
  return kHeaderBytes + int64_t{sizeof(uint16_t)} * unit.numel;
}

Work Float16Codec::EncodeWork(int64_t numel, double) const { return {"cast.encode", numel, 1}; }
Work Float16Codec::DecodeWork(int64_t numel, double) const { return {"cast.decode", numel, 1}; }

Message Float16Codec::Encode(std::span<const float> values, const CodecContext& context) const {
  CheckFinite(values, context.unit);
  Message message;
  WriteHeader(Float16Header(context.unit, CheckedNumel(values)), message.bytes);
  message.bytes.resize(kHeaderBytes + sizeof(uint16_t) * values.size());
  cpu::EncodeHalf(values, std::span(message.bytes).subspan(kHeaderBytes));
  return message;
}

void Float16Codec::DecodeAdd(ByteSpan message, const CodecContext& context,
                             std::span<float> sum) const {
  const ByteSpan segment = CheckedPayload(message, Float16Header(context.unit, CheckedNumel(sum)),
                                          static_cast<int64_t>(sizeof(uint16_t) * sum.size()));
  std::vector<float> values(sum.size());
  cpu::DecodeHalf(segment, values);
  if (cpu::FirstNonFinite(values)) throw Error("message: a value is not a finite number");
  cpu::Add(values, sum);
}

}  // namespace legacy
