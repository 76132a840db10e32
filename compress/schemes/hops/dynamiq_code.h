// The code of DynamiQ (SIGCOMM 2026): values in super-groups of 16 groups of 16, at 2, 4 or 8 bits
// each, on levels that are closer together near zero.
//
//   m      = 2^(q - 1) - 1 levels above zero for q bits
//   f(r)   = ((1 + 2 e^2)^r - 1) / ((1 + 2 e^2)^m - 1),  e = .23, .18, .1 for q = 2, 4, 8
//   U      = max |x| / 255 over the super-group, rounded up to bf16
//   c      = ceil(max |x| / U) over a group: a byte, so that |x| <= c U
//   z      = |x| / (c U) becomes a level r next to it, and is sent as m + r or m - r
//
// A super-group of q bits takes 32 q + 18 bytes: for each group 2 q bytes of codes, lowest bits
// first, and c; then U. All numbers are computed in double precision by operations that round alike
// on every processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compress/schemes/hops/dynamiq_rules.h"

namespace legacy::dynamiq {

inline constexpr int64_t kGroup = 16;                // values of a group
inline constexpr int64_t kGroups = 16;               // groups of a super-group
inline constexpr int64_t kSuper = kGroup * kGroups;  // values of a super-group

// Bytes of a super-group of that many bits, and bits of a value besides its code: those of scales,
// and of two bf16 of statistics.
constexpr int64_t SuperBytes(int bits) { return 32 * bits + 18; }
inline constexpr double kOverheadBits = (18 + 4) * 8.0 / kSuper;

// Returns the levels of 2, 4 or 8 bits.
const CodeTable& TableOf(int bits);
// Returns the m + 1 levels of 2, 4 or 8 bits, from 0 to 1.
std::span<const double> Levels(int bits);
// Returns the level of z, 0 <= z <= 1, with a draw u of [0, 1).
int LevelOf(int bits, double z, double u, Rounding rounding);
// Writes SuperBytes(bits) for a super-group of finite values; value i has the draw draws[i].
void Encode(std::span<const float, kSuper> values, int bits, std::span<const double, kSuper> draws,
            Rounding rounding, std::byte* out);
// Throws Error for bytes that Encode does not write.
void Check(const std::byte* in, int bits);
// Decodes checked bytes.
void Decode(const std::byte* in, int bits, std::span<float, kSuper> values);

// Returns the bits of each super-group by its energy: 8 from a threshold T on, 4 from 17/512 T on,
// and otherwise 2, with the least T for which they are `mean` on average at most. Energies of 0 get
// 2 bits.
std::vector<int> BitsFor(std::span<const double> energies, double mean);

}  // namespace legacy::dynamiq
