// Whole messages (compress/message.h, docs/message-format.md) of many units are written and read on
// a GPU in one launch each. Every byte is the CPU's. Nothing waits for the device, and the launches
// follow from the table alone.
//
// Bytes moved: what a message is made of and the message itself, once each; positions that are read
// from a bitmap twice.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cuda/device/stream.h"
#include "compress/cuda/kernels/coding/message_table.h"

namespace legacy::cuda {

// Writes header, positions and values of each unit into `out`, filled up with zeros to a multiple
// of 16 bytes. Positions ascend strictly and are below numel; values are read in whole words of 4
// bytes, so that a segment's last word has to be there. `out` is aligned to 16 bytes, and
// `messages` is the view of the copy of `table` on the device.
void WriteMessages(const MessageTable& table, const Messages& messages, const uint32_t* positions,
                   const std::byte* values, std::byte* out, Stream stream);

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

size_t ReadMessagesWorkspaceBytes(const MessageTable& table);

// Reads positions and values out of messages, whose lengths the caller compares with those of the
// table. All that the CPU's decoder refuses is refused; what is written of it is not to be used,
// and is nowhere outside the unit's positions and values. Throws Error where the workspace is too
// small or a launch is refused.
void ReadMessages(const MessageTable& table, const Messages& messages, const ReadArrays& arrays,
                  void* workspace, size_t bytes, Stream stream);

}  // namespace legacy::cuda
