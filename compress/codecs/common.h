// What the codecs share: the density rule, the checks of input and message, segments of floats.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "compress/codec.h"

namespace legacy {

// Parameter of codecs that have none, and the fraction of elements that sparsifiers keep.
const ParameterSpec& NoParameter();
const ParameterSpec& DensityParameter();

// Elements kept of `numel`: max(1, floor(density * numel)), and 0 of nothing. The product is nudged
// up by its rounding error, so that a density that is written as k / numel keeps exactly k.
int64_t KeptCount(int64_t numel, double density);

// Throws Error naming unit and element where a value is NaN or infinite.
void CheckFinite(std::span<const float> values, uint32_t unit);

// Throws Error where `values` has more elements than a message can count.
uint32_t CheckedNumel(std::span<const float> values);

// Checks that `message` has exactly the header `expected`, and `payload` bytes after it; returns
// those bytes.
ByteSpan CheckedPayload(ByteSpan message, const Header& expected, int64_t payload);
// The same for messages whose length depends on the data.
ByteSpan CheckedPayload(ByteSpan message, const Header& expected);
// Throws Error unless `segment` is exactly `length` bytes.
void CheckLength(ByteSpan segment, int64_t length);

// A message with `header` and room for `payload` bytes after it, not yet written.
Message StartMessage(const Header& header, int64_t payload);

void AppendFloats(std::span<const float> values, Bytes& out);
// Element i of a segment of floats that may lie at any address.
inline float FloatAt(ByteSpan segment, size_t i) {
  float value = 0;
  std::memcpy(&value, segment.data() + i * sizeof value, sizeof value);
  return value;
}
// Throws Error where a float of the segment is NaN or infinite.
void CheckFiniteSegment(ByteSpan segment);

}  // namespace legacy
