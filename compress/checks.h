// Checks of input and messages that codecs share, and functions for segments of floats.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "compress/codec.h"

namespace legacy {

// Throws Error naming unit and element if a value is NaN or infinite.
void CheckFinite(std::span<const float> values, uint32_t unit);

// Returns the largest magnitude. Throws Error if one is above `most`, as sums over it could
// overflow, or not finite.
float CheckedMagnitude(std::span<const float> values, float most, uint32_t unit,
                       std::string_view codec);

// Returns the number of values. Throws Error if a message cannot count that many.
uint32_t CheckedNumel(std::span<const float> values);

// Checks that `message` has exactly the header `expected`, and `payload` bytes after it; returns
// those bytes.
ByteSpan CheckedPayload(ByteSpan message, const Header& expected, int64_t payload);
// Checks messages whose length depends on the data.
ByteSpan CheckedPayload(ByteSpan message, const Header& expected);
// Do the same for messages with an extended header.
ByteSpan CheckedPayload(ByteSpan message, const ExtendedHeader& expected, int64_t payload);
ByteSpan CheckedPayload(ByteSpan message, const ExtendedHeader& expected);
// Throws Error unless `segment` is exactly `length` bytes.
void CheckLength(ByteSpan segment, int64_t length);

// Returns a message with `header`, and room reserved for `payload` bytes that are not yet written.
Message StartMessage(const Header& header, int64_t payload);
Message StartMessage(const ExtendedHeader& header, int64_t payload);

// Appends `values` as little-endian fp32.
void AppendFloats(std::span<const float> values, Bytes& out);
// Returns element i of a segment of floats, which need not be aligned.
inline float FloatAt(ByteSpan segment, size_t i) {
  float value = 0;
  std::memcpy(&value, segment.data() + i * sizeof value, sizeof value);
  return value;
}
// Throws Error if a float of the segment is NaN or infinite.
void CheckFiniteSegment(ByteSpan segment);
// Adds the floats of a segment of sum.size() to `sum`. Throws Error, before it changes `sum`, if
// one is NaN or infinite.
void AddSegment(ByteSpan segment, std::span<float> sum);

}  // namespace legacy
