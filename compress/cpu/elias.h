// This is Elias-gamma coding of signed levels of which many are zero, as in Alistarh et al.,
// "QSGD", NeurIPS 2017, section 3.1.
//
// For each level that is not zero, in order: gamma(distance from the one before, from 1), a bit set
// where it is negative, gamma(|level|). After the last of them gamma(distance to the end) unless
// that is 1. A stream of bits, the lowest of a byte first, zeros up to a whole byte. gamma(v), v >=
// 1: floor(log2 v) zeros, a one, the bits of v below its leading one, the lowest first. Each list
// of levels has one stream only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace legacy::cpu {

// Appends the stream. Code c stands for level c - levels; codes are at most 2 * levels.
void WriteElias(std::span<const uint8_t> codes, int levels, std::vector<std::byte>& out);
// Reads codes. Throws Error unless `in` is exactly one stream of codes.size() levels. 1 <= levels
// <= 127.
void ReadElias(std::span<const std::byte> in, int levels, std::span<uint8_t> codes);

}  // namespace legacy::cpu
