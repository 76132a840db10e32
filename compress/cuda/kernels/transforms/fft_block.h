// Computes the transforms of cpu/fft.h with a block, in its shared memory. It performs the
// operations of cpu/fft_rules.h on the same numbers, so that every bit equals the CPU's.
// fft_shape.h describes the order. For each element of a chunk of 4096, 24 bytes of shared memory
// move. Kernels are specialised for this length only.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "compress/cpu/fft_rules.h"
#include "compress/cuda/kernels/transforms/spectrum_table.h"

namespace legacy::cuda {

// kMostLog is the logarithm of the largest tile's number of elements.
template <int kMostLog>
struct FftBlock {
  static constexpr int kThreads = FftThreads(kMostLog);
  static constexpr int kBlocksTogether = kMostLog <= kTileLog ? 5 : 1;  // registers allow no more
  static constexpr int kMostHalf = 1 << (kMostLog - 1);
  // Returns the slot of a location in shared memory. In a chunk of 4096, the threads of a warp then
  // use different banks, whichever digits they hold, and also when they read frequencies in order.
  // The slot of an exclusive or is the exclusive or of the slots.
  static constexpr int Slot(int location) {
    return location ^ (location >> 4 & 0b11110) ^ (location >> 7 & 0b1101);
  }
  struct Shared {
    std::array<float, kMostHalf> re, im;

    LEGACY_DEVICE ComplexFloat AtSlot(int slot) const { return {re[slot], im[slot]}; }
    LEGACY_DEVICE void PutAtSlot(int slot, ComplexFloat z) {
      re[slot] = z.re;
      im[slot] = z.im;
    }
    LEGACY_DEVICE ComplexFloat At(int location) const { return AtSlot(Slot(location)); }
    LEGACY_DEVICE void Put(int location, ComplexFloat z) { PutAtSlot(Slot(location), z); }
  };

  // Factors of one length, from device memory.
  struct Fft {
    FftShape shape;
    const ComplexFloat* row_roots;
    const ComplexFloat* column_roots;
    const ComplexFloat* twists;
    const ComplexFloat* real_roots;
    float scale;

    static LEGACY_DEVICE Fft Of(const FftFactors& factors, FftShape shape) {
      const FftLength length = factors.lengths[shape.half_bits + 1 - kFastLog];
      return {shape,
              factors.numbers + length.row_roots,
              factors.numbers + length.column_roots,
              factors.numbers + length.twists,
              factors.numbers + length.real_roots,
              length.scale};
    }
  };

  // Calls step(half_bits) with the number of bits of the transform's locations, which is a constant
  // if the tile is a chunk of 4096.
  template <class Step>
  static LEGACY_DEVICE void WithLength(const SpectrumTile& tile, Step step) {
    if constexpr (kMostLog == kTileLog) {
      if (tile.log == kTileLog) return step(std::integral_constant<int, kTileLog - 1>());
    }
    step(tile.log - 1);
  }

  // Transforms numbers that begin at every half-th location, up to `locations`; load(thread,
  // location) returns them. Shared memory must be synchronised before the call, and is synchronised
  // after it.
  template <class Block, class HalfBits, class Load>
  static LEGACY_DEVICE void Transform(Block& block, Shared& shared, const Fft& fft, HalfBits,
                                      int locations, Load load) {
    constexpr FftShape kShape = {HalfBits::value};
    [&]<int... kPairs>(std::integer_sequence<int, kPairs...>) {
      (Digits<kShape.Digit(2 * kPairs).bits, kShape.Digit(2 * kPairs + 1).bits, kPairs == 0>(
           block, shared, fft, kShape.Digit(2 * kPairs).low - kShape.Digit(2 * kPairs + 1).bits,
           locations, load),
       ...);
    }
    (std::make_integer_sequence<int, (kShape.digits() + 1) / 2>());
  }
  // Transforms one digit after the other, which takes fewer registers.
  template <class Block, class Load>
  static LEGACY_DEVICE void Transform(Block& block, Shared& shared, const Fft& fft, int,
                                      int locations, Load load) {
    Digits<2, 0, true>(block, shared, fft, fft.shape.Digit(0).low, locations, load);
    for (int number = 1; number < fft.shape.digits(); ++number) {
      const FftDigit digit = fft.shape.Digit(number);
      if (digit.bits == 1) {
        Digits<1, 0, false>(block, shared, fft, digit.low, locations, load);
      } else {
        Digits<2, 0, false>(block, shared, fft, digit.low, locations, load);
      }
    }
  }

 private:
  // Computes the stages of a digit of kFirst bits, and of a following digit of kSecond bits (0 for
  // none) that lies above the lowest `low` bits.
  template <int kFirst, int kSecond, bool kLoads, class Block, class Load>
  static LEGACY_DEVICE void Digits(Block& block, Shared& shared, const Fft& fft, int low,
                                   int locations, Load load) {
    constexpr int kBits = kFirst + kSecond, kSize = 1 << kBits, kStride = 1 << kSecond;
    const int columns = fft.shape.column_bits();
    block.ForEachThread([&](int thread) {
      for (int group = thread; group < locations >> kBits; group += kThreads) {
        const int base = group >> low << (low + kBits) | (group & ((1 << low) - 1));
        const int slot = Slot(base);
        std::array<ComplexFloat, kSize> z;
        LEGACY_UNROLL
        for (int i = 0; i < kSize; ++i) {
          if constexpr (kLoads) {
            z[i] = load(thread, base + (i << low));
          } else {
            z[i] = shared.AtSlot(slot ^ Slot(i << low));
          }
        }
        LEGACY_UNROLL
        for (int i = 0; i < kStride; ++i) {
          Stage<kFirst, kStride>(fft, low + kSecond, base + (i << low), &z[i]);
        }
        if (low + kSecond == columns) Twist(fft, base, low, z);
        if constexpr (kSecond > 0) {
          LEGACY_UNROLL
          for (int i = 0; i < kSize; i += kStride) {
            Stage<kSecond, 1>(fft, low, base + (i << low), &z[i]);
          }
          if (low == columns) Twist(fft, base, low, z);
        }
        LEGACY_UNROLL
        for (int i = 0; i < kSize; ++i) shared.PutAtSlot(slot ^ Slot(i << low), z[i]);
      }
    });
    block.Sync();
  }

  // Computes the stage of a digit of kBits bits above the lowest `low` bits of the location.
  template <int kBits, int kStride>
  static LEGACY_DEVICE void Stage(const Fft& fft, int low, int location, ComplexFloat* z) {
    if constexpr (kBits == 1) {
      const ComplexFloat a = z[0], b = z[kStride];
      z[0] = {a.re + b.re, a.im + b.im};
      z[kStride] = {a.re - b.re, a.im - b.im};
    } else {
      const int columns = fft.shape.column_bits();
      const bool row = low >= columns;
      const int begin = row ? columns : 0;  // first bit of the row or column
      const int side = 1 << (row ? fft.shape.row_bits() : columns);
      const int quarter = 1 << (low - begin);  // a quarter of the stage's length
      const int p = location >> begin & (quarter - 1);
      const ComplexFloat* const roots =
          (row ? fft.row_roots : fft.column_roots) + (side - 4 * quarter) + 3 * p;
      const cpu::FourNumbers y = cpu::Butterfly4({z[0], z[kStride], z[2 * kStride], z[3 * kStride]},
                                                 roots[0], roots[1], roots[2]);
      z[0] = y.y0;
      z[kStride] = y.y1;
      z[2 * kStride] = y.y2;
      z[3 * kStride] = y.y3;
    }
  }
  template <size_t kSize>
  static LEGACY_DEVICE void Twist(const Fft& fft, int base, int low,
                                  std::array<ComplexFloat, kSize>& z) {
    const int own = base & (fft.shape.half() - 1);  // location within the transform
    LEGACY_UNROLL
    for (int i = 0; i < static_cast<int>(kSize); ++i) {
      z[i] = cpu::Times(z[i], fft.twists[own + (i << low)]);
    }
  }
};

// Return what RealFft returns for short lengths: coefficient k of `length` values, and value j of
// as many bins.
LEGACY_DEVICE ComplexFloat DirectCoefficient(const FftFactors& factors, const float* values,
                                             int length, int k) {
  const double* const cosines = factors.cosines + length * (length - 1) / 2;
  const double* const sines = factors.sines + length * (length - 1) / 2;
  const double scale = 1 / std::sqrt(static_cast<double>(length));
  double re = 0, im = 0;
  for (int j = 0, at = 0; j < length; ++j, at = (at + k) % length) {
    re += values[j] * cosines[at];
    im -= values[j] * sines[at];
  }
  return {static_cast<float>(re * scale),
          2 * k % length == 0 ? 0.0f : static_cast<float>(im * scale)};
}
template <class Bins>
LEGACY_DEVICE float DirectValue(const FftFactors& factors, Bins bins, int length, int j) {
  const double* const cosines = factors.cosines + length * (length - 1) / 2;
  const double* const sines = factors.sines + length * (length - 1) / 2;
  const double scale = 1 / std::sqrt(static_cast<double>(length));
  double sum = 0;
  for (int k = 0, at = 0; k < length / 2 + 1; ++k, at = (at + j) % length) {
    const ComplexFloat x = bins(k);
    const bool own = 2 * k % length == 0;  // a bin that is its own conjugate counts once
    sum += own ? x.re * cosines[at] : 2 * (x.re * cosines[at] - x.im * sines[at]);
  }
  return static_cast<float>(sum * scale);
}

}  // namespace legacy::cuda
