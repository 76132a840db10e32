// A random rotation: signs, then the orthonormal Walsh-Hadamard transform in natural order of each
// piece of a vector. Pieces are blocks of one power of two, then the powers of two of the rest, the
// largest first; nothing is padded.
//
//   y = H D x / sqrt(length),  H[i][j] = (-1)^popcount(i & j),  x = D H y / sqrt(length)
//
// D is a diagonal of signs: that of element i is minus where bit i mod 32 of draw i / 32 is set, of
// the stream of a key (base/random.h). Forward and back are sums and differences of fp32 in one
// order, stage after stage over distances 1, 2, 4, ...: every instruction set gives the same bits.
// A piece of up to 8192 values stays in the nearest cache: reads 4 and writes 4 bytes per element.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/simd.h"

namespace legacy::cpu {

// Computes the transform of a power of two of values in place, without the factor.
void Hadamard(std::span<float> values, Simd simd = ActiveSimd());
// Writes the transforms of each kHadamardGroup values, times `factor`, to `out`, which may be
// `values`. The values after the last group are copied.
inline constexpr int64_t kHadamardGroup = 32;
void HadamardGroups(std::span<const float> values, float factor, std::span<float> out,
                    Simd simd = ActiveSimd());

// Calls body(begin, length) for the pieces of a vector in order.
template <typename Body>
void ForEachRotatedPiece(int64_t numel, int64_t block, Body body) {
  int64_t begin = 0;
  for (; numel - begin >= block; begin += block) body(begin, block);
  while (begin < numel) {
    const auto length = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(numel - begin)));
    body(begin, length);
    begin += length;
  }
}

// Returns 1 / sqrt(length), the factor of a piece.
float RotationFactor(int64_t length);

// Rotates vectors of one length by one draw of signs.
class Rotation {
 public:
  static constexpr int64_t kMostBlock = 1 << 16;

  // `block` is a power of two up to kMostBlock. `key` has the purpose of its draws, kRotation, and
  // worker 0 where workers share the rotation.
  Rotation(const RandomKey& key, int64_t numel, int64_t block);
  // Rotates by given signs, one bit per element as above.
  Rotation(std::vector<uint32_t> signs, int64_t numel, int64_t block);

  int64_t numel() const { return numel_; }

  // Calls body(begin, length) for the pieces in order.
  template <typename Body>
  void ForEachPiece(Body body) const {
    ForEachRotatedPiece(numel_, block_, body);
  }

  // Writes the rotation of factor * values, the piece from element `begin` on; `rotated` may be
  // `values`. Values are multiplied before they are added, so that sums cannot overflow.
  void Forward(std::span<const float> values, int64_t begin, float factor, std::span<float> rotated,
               Simd simd = ActiveSimd()) const;
  // Rotates a piece back in place.
  void Back(std::span<float> rotated, int64_t begin, Simd simd = ActiveSimd()) const;

 private:
  int64_t numel_;
  int64_t block_;
  std::vector<uint32_t> signs_;
};

// Returns the key of a rotation that all workers share, from that of any of a step's draws.
RandomKey RotationKey(RandomKey key);

}  // namespace legacy::cpu
