// Whole messages (compress/message.h, docs/message-format.md) of many units are written and read on
// a GPU in one launch each. Every byte is the CPU's. Nothing waits for the device, and the launches
// follow from the table alone.
//
// Bytes moved: what a message is made of and the message itself, once each; positions that are read
// from a bitmap twice.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cuda/kernels/coding/message_table.h"

namespace legacy::cuda {

// A MessageFault says why a message is refused; faults are bits of a number.
enum MessageFault : uint32_t {
  kBadHeader = 1,     // not the one of the table
  kBadPositions = 2,  // outside the unit, not ascending, or another number of them
  kBadPadding = 4,    // bits behind the last position
  kNotFinite = 8,     // values of four bytes: those of a quantiser are its own to check
};

struct ReadArrays {
  const std::byte* messages = nullptr;  // aligned to 16 bytes; whole words of 4 bytes are read
  uint32_t* positions = nullptr;        // as the table has them
  std::byte* values = nullptr;          // the same; filled up with zeros to whole words of 4 bytes
  // These are of each unit.
  uint32_t* faults = nullptr;
  uint32_t* counts = nullptr;  // values that may be used: header.count, and 0 of what is refused
};

}  // namespace legacy::cuda
