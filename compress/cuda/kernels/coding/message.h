// Writes and reads the whole messages (compress/message.h, docs/message-format.md) of many units on
// a GPU, in one launch each. Every byte equals the CPU's. Nothing waits for the device, and the
// launches depend on the table alone.
//
// Bytes moved: the contents of a message and the message itself, once each; positions from a bitmap
// are read twice.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cuda/kernels/coding/message_table.h"

namespace legacy::cuda {

// A MessageFault is a reason for refusing a message; faults are bits of a number.
enum MessageFault : uint32_t {
  // The header differs from the table's.
  kBadHeader = 1,
  // Positions are outside the unit, do not ascend, or are of another number.
  kBadPositions = 2,
  // Set bits after the last position.
  kBadPadding = 4,
  // Values of four bytes that are not finite; a quantiser checks its own values.
  kNotFinite = 8,
};

// Arrays in device memory that messages are read from and into.
struct ReadArrays {
  const std::byte* messages = nullptr;  // aligned to 16 bytes; whole words of 4 bytes are read
  // Laid out as the table says.
  uint32_t* positions = nullptr;
  // Laid out as the table says; padded with zeros to whole words of 4 bytes.
  std::byte* values = nullptr;
  // The following have an entry per unit.
  uint32_t* faults = nullptr;
  // Number of values that may be used: header.count, or 0 for a refused message.
  uint32_t* counts = nullptr;
};

}  // namespace legacy::cuda
