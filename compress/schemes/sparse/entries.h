// Values at positions, as Ok-Topk sends them: an extended header, positions in the shortest coding
// of a fixed length, fp32 values; nothing at all if there are none. Numbers of values have no
// header.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/message.h"
#include "compress/unit.h"

namespace legacy {

// Values at positions of a unit, which ascend.
struct SparseEntries {
  std::vector<uint32_t> positions;
  std::vector<float> values;
};

// Returns the header of a message of `count` values; `call` tells those of several calls apart.
ExtendedHeader EntriesHeader(const Unit& unit, int call, int64_t count, bool positions = true);

// Returns the bytes of so many entries.
int64_t EntryBytes(const Unit& unit, int64_t count);
// Appends `count` of the entries, from entry `from` on, or as many as there are. (Fewer than were
// announced, which readers of files have, make a message that is refused.)
void AppendEntries(const Unit& unit, int call, const SparseEntries& entries, size_t from,
                   size_t count, Bytes& out);
// Reads and removes `count` entries from the front of `rest`. Throws Error for bytes that no
// encoder writes. Zeros are refused, because they add nothing.
SparseEntries ReadEntries(const Unit& unit, int call, int64_t count, ByteSpan& rest);

// Return the message of numbers, and the `count` numbers of a message. Throw Error for another
// length, or a number above `largest`.
template <typename Number>
Message MessageOfNumbers(const std::vector<Number>& numbers) {
  Message message;
  const auto bytes = std::as_bytes(std::span(numbers));
  message.bytes.assign(bytes.begin(), bytes.end());
  return message;
}
template <typename Number>
std::vector<Number> NumbersOf(ByteSpan message, size_t count, uint64_t largest) {
  CheckLength(message, static_cast<int64_t>(count * sizeof(Number)));
  std::vector<Number> numbers(count);
  if (count > 0) std::memcpy(numbers.data(), message.data(), message.size());
  for (const Number number : numbers) {
    if (number <= largest) continue;
    throw Error("message: number", std::to_string(number), "at most " + std::to_string(largest));
  }
  return numbers;
}

}  // namespace legacy
