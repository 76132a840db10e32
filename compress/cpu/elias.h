// Elias gamma coding of signed levels of which many are zero, as in Alistarh et al., "QSGD",
// NeurIPS 2017, section 3.1.
//
// For each level that is not zero, in order, the stream has gamma(distance from the previous one,
// from 1), a bit that is set if the level is negative, and gamma(|level|). After the last of them
// follows gamma(distance to the end) unless that is 1. Bits are stored from the lowest of a byte
// up, and padded with zeros to a whole byte. gamma(v), v >= 1, is floor(log2 v) zeros, a one, and
// the bits of v below its leading one, the lowest first. Each list of levels has exactly one
// stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace legacy::cpu {

// Appends the stream. Code c represents level c - levels; codes are at most 2 * levels.
void WriteElias(std::span<const uint8_t> codes, int levels, std::vector<std::byte>& out);
// Reads codes. Throws Error unless `in` is exactly one stream of codes.size() levels. 1 <= levels
// <= 127.
void ReadElias(std::span<const std::byte> in, int levels, std::span<uint8_t> codes);

}  // namespace legacy::cpu
