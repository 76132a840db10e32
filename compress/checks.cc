#include "compress/checks.h"

#include <bit>

#include "base/error.h"
#include "base/number.h"
#include "compress/cpu/vector.h"

namespace legacy {
namespace {

void CheckField(const char* field, int64_t got, int64_t expected) {
  if (got == expected) return;
  throw Error(std::string("message: ") + field, std::to_string(got), std::to_string(expected));
}

}  // namespace

void CheckParameter(const ParameterSpec& spec, double value) {
  if (spec.Kind() == ParameterKind::kNone || (value >= spec.minimum && value <= spec.maximum))
    return;
  throw Error(spec.name, FormatNumber(value),
              FormatNumber(spec.minimum) + " to " + FormatNumber(spec.maximum));
}

void CheckFinite(std::span<const float> values, uint32_t unit) {
  const auto found = cpu::FirstNonFinite(values);
  if (!found) return;
  throw Error("gradient of unit " + std::to_string(unit) + ", element " + std::to_string(*found),
              FormatNumber(values[*found]), "finite numbers");
}

float CheckedMagnitude(std::span<const float> values, float most, uint32_t unit,
                       std::string_view codec) {
  const float largest = cpu::AbsMax(values);
  if (largest <= most) return largest;
  CheckFinite(values, unit);
  throw Error("gradient of unit " + std::to_string(unit) + ", largest magnitude",
              FormatNumber(largest),
              "at most " + FormatNumber(most) + " with codec " + std::string(codec));
}

uint32_t CheckedNumel(std::span<const float> values) {
  if (static_cast<int64_t>(values.size()) <= kMaxUnitElements) {
    return static_cast<uint32_t>(values.size());
  }
  throw Error("elements of a unit", std::to_string(values.size()),
              "at most " + std::to_string(kMaxUnitElements));
}

ByteSpan CheckedPayload(ByteSpan message, const Header& expected) {
  const Header header = ReadHeader(message);
  CheckField("codec", header.codec, expected.codec);
  CheckField("index coding", static_cast<int>(header.index), static_cast<int>(expected.index));
  CheckField("value type", static_cast<int>(header.values), static_cast<int>(expected.values));
  CheckField("unit", header.unit, expected.unit);
  CheckField("elements", header.numel, expected.numel);
  CheckField("values", header.count, expected.count);
  return message.subspan(HeaderBytes(header.values));
}

ByteSpan CheckedPayload(ByteSpan message, const ExtendedHeader& expected) {
  const ExtendedHeader header = ReadExtendedHeader(message);
  CheckField("index coding", static_cast<int>(header.header.index),
             static_cast<int>(expected.header.index));
  CheckField("unit", header.header.unit, expected.header.unit);
  CheckField("elements", header.header.numel, expected.header.numel);
  CheckField("values", header.header.count, expected.header.count);
  CheckField("method", static_cast<int>(header.method), static_cast<int>(expected.method));
  CheckField("value type", header.values, expected.values);
  CheckField("parameter", header.parameter, expected.parameter);
  return message.subspan(kExtendedHeaderBytes);
}

ByteSpan CheckedPayload(ByteSpan message, const ExtendedHeader& expected, int64_t payload) {
  const ByteSpan segment = CheckedPayload(message, expected);
  CheckLength(segment, payload);
  return segment;
}

ByteSpan CheckedPayload(ByteSpan message, const Header& expected, int64_t payload) {
  const ByteSpan segment = CheckedPayload(message, expected);
  CheckLength(segment, payload);
  return segment;
}

void CheckLength(ByteSpan segment, int64_t length) {
  CheckField("bytes of the last segment", static_cast<int64_t>(segment.size()), length);
}

Message StartMessage(const Header& header, int64_t payload) {
  Message message;
  message.bytes.reserve(HeaderBytes(header.values) + payload);
  WriteHeader(header, message.bytes);
  return message;
}

Message StartMessage(const ExtendedHeader& header, int64_t payload) {
  Message message;
  message.bytes.reserve(kExtendedHeaderBytes + payload);
  WriteExtendedHeader(header, message.bytes);
  return message;
}

void AppendFloats(std::span<const float> values, Bytes& out) {
  const auto bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void CheckFiniteSegment(ByteSpan segment) {
  constexpr uint32_t kExponent = 0x7F800000;  // all bits set only in NaN and infinity
  uint32_t found = 0;
  for (size_t i = 0; i < segment.size() / sizeof(float); ++i) {
    const auto bits = std::bit_cast<uint32_t>(FloatAt(segment, i));
    found |= (bits & kExponent) == kExponent;
  }
  if (found != 0) throw Error("message: a value is not a finite number");
}

void AddSegment(ByteSpan segment, std::span<float> sum) {
  CheckFiniteSegment(segment);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += FloatAt(segment, i);
}

}  // namespace legacy
