#include <algorithm>
#include <array>
#include <cstring>

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

void CheckFiniteHalves(ByteSpan segment) {
  constexpr uint16_t kExponent = 0x7C00;  // all set in NaN and infinity alone
  uint32_t found = 0;
  for (size_t i = 0; i < segment.size(); i += sizeof(uint16_t)) {
    uint16_t half = 0;
    std::memcpy(&half, segment.data() + i, sizeof half);
    found |= (half & kExponent) == kExponent;
  }
  if (found != 0) throw Error("message: a value is not a finite number");
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
  CheckFiniteHalves(segment);
  // Through a buffer that stays in the first-level cache.
  std::array<float, 2048> buffer;
  for (size_t begin = 0; begin < sum.size(); begin += buffer.size()) {
    const size_t count = std::min(buffer.size(), sum.size() - begin);
    const auto values = std::span(buffer).first(count);
    cpu::DecodeHalf(segment.subspan(sizeof(uint16_t) * begin, sizeof(uint16_t) * count), values);
    cpu::Add(values, sum.subspan(begin, count));
  }
}

}  // namespace legacy
