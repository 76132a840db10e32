// Frames of calls: the first message of a call, by which receivers learn the length of the whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "compress/message.h"

namespace legacy {

// Bytes of the first message of a call, which has the length in front and whatever fits after it.
// Short calls are one message.
inline constexpr int64_t kFrameBytes = 1024;
inline constexpr int64_t kInline = kFrameBytes - static_cast<int64_t>(sizeof(uint64_t));

// Returns the first message of bytes.
inline Bytes FrameOf(ByteSpan bytes) {
  Bytes frame(kFrameBytes);
  const auto length = static_cast<uint64_t>(bytes.size());
  std::memcpy(frame.data(), &length, sizeof length);
  if (std::ssize(bytes) <= kInline) std::ranges::copy(bytes, frame.begin() + sizeof length);
  return frame;
}

// Returns the length of the whole.
inline int64_t LengthOf(const std::byte* frame) {
  uint64_t length = 0;
  std::memcpy(&length, frame, sizeof length);
  return static_cast<int64_t>(length);
}

}  // namespace legacy
