// Packed segments end with codes of one width (cpu/bitpack.h), which are written and read through a
// small buffer.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"
#include "compress/cpu/bitpack.h"
#include "compress/message.h"

namespace legacy {

// A multiple of eight, so that blocks end at whole bytes.
inline constexpr size_t kPackedBlock = 1024;

// Appends the codes of all values; encode(values of a block, its codes) computes those of a block.
template <typename Encode>
void AppendPacked(std::span<const float> values, int width, Bytes& out, Encode encode) {
  std::array<uint32_t, kPackedBlock> buffer;
  size_t begin = out.size();
  out.resize(begin + cpu::PackedBytes(static_cast<int64_t>(values.size()), width));
  for (size_t i = 0; i < values.size(); i += kPackedBlock) {
    const auto block = values.subspan(i, std::min(kPackedBlock, values.size() - i));
    const auto codes = std::span(buffer).first(block.size());
    encode(block, codes);
    const int64_t bytes = cpu::PackedBytes(static_cast<int64_t>(block.size()), width);
    cpu::PackCodes(codes, width, std::span(out).subspan(begin, bytes));
    begin += bytes;
  }
}

// Reads codes and calls decode(codes, values of the block). `packed` must have the right length.
// Throws Error for a code above `largest` and for set padding bits.
template <typename Decode>
void ReadPacked(ByteSpan packed, int width, uint32_t largest, std::span<float> values,
                Decode decode) {
  std::array<uint32_t, kPackedBlock> buffer;
  for (size_t i = 0; i < values.size(); i += kPackedBlock) {
    const auto block = values.subspan(i, std::min(kPackedBlock, values.size() - i));
    const auto codes = std::span(buffer).first(block.size());
    const int64_t bytes = cpu::PackedBytes(static_cast<int64_t>(block.size()), width);
    cpu::UnpackCodes(packed.first(bytes), width, codes);
    packed = packed.subspan(bytes);
    uint32_t most = 0;
    for (const uint32_t code : codes) most = std::max(most, code);
    if (most > largest) {
      throw Error("message: code", std::to_string(most), "at most " + std::to_string(largest));
    }
    decode(codes, block);
  }
}

}  // namespace legacy
