// The arithmetic of fft.h and spectrum.h number by number: the operations, in their order, that
// loops on CPU and GPU share. The loops supply the numbers' places.
#pragma once

#include <bit>
#include <cstdint>

#include "base/simd.h"
#include "compress/cpu/topk_gather.h"

namespace legacy::cpu {

struct alignas(8) ComplexFloat {
  float re, im;
};

LEGACY_INLINE constexpr ComplexFloat Times(ComplexFloat x, ComplexFloat w) {
  return {x.re * w.re - x.im * w.im, x.re * w.im + x.im * w.re};
}

// Four numbers and their transform, whose numbers 1 to 3 are multiplied by a factor each.
struct FourNumbers {
  ComplexFloat y0, y1, y2, y3;
};
LEGACY_INLINE constexpr FourNumbers Butterfly4(const FourNumbers& a, ComplexFloat w1,
                                               ComplexFloat w2, ComplexFloat w3) {
  const float sr = a.y0.re + a.y2.re, si = a.y0.im + a.y2.im;
  const float dr = a.y0.re - a.y2.re, di = a.y0.im - a.y2.im;
  const float tr = a.y1.re + a.y3.re, ti = a.y1.im + a.y3.im;
  const float er = a.y1.re - a.y3.re, ei = a.y1.im - a.y3.im;
  return {{sr + tr, si + ti},
          Times({dr + ei, di - er}, w1),  // d - i e
          Times({sr - tr, si - ti}, w2),
          Times({dr - ei, di + er}, w3)};  // d + i e
}

// Returns coefficient k of n real numbers, 0 < k < n / 2, from numbers k and n / 2 - k of the
// transform of n / 2 complex numbers, which are even and odd elements scaled by n^-1/2 / 2; `root`
// = exp(-2 pi i k / n).
LEGACY_INLINE constexpr ComplexFloat SplitReal(ComplexFloat z, ComplexFloat mirror,
                                               ComplexFloat root) {
  const ComplexFloat odd = Times({z.im + mirror.im, mirror.re - z.re}, root);
  return {(z.re + mirror.re) + odd.re, (z.im - mirror.im) + odd.im};
}
// Return coefficients 0 and n / 2, which are real.
LEGACY_INLINE constexpr float FirstReal(ComplexFloat z) { return 2 * (z.re + z.im); }
LEGACY_INLINE constexpr float LastReal(ComplexFloat z) { return 2 * (z.re - z.im); }

// Compute the inverse of SplitReal, and of FirstReal and LastReal.
LEGACY_INLINE constexpr ComplexFloat JoinReal(ComplexFloat x, ComplexFloat mirror,
                                              ComplexFloat root, float scale) {
  const float dr = x.re - mirror.re, di = x.im + mirror.im;  // X - conj Y
  const float odd_re = dr * root.re + di * root.im, odd_im = di * root.re - dr * root.im;
  return {((x.re + mirror.re) - odd_im) * scale, ((x.im - mirror.im) + odd_re) * scale};
}
LEGACY_INLINE constexpr ComplexFloat JoinFirst(float first, float last, float scale) {
  return {(first + last) * scale, (first - last) * scale};
}

// Returns w |scale X|^2 with w = 2; a real coefficient has half of that.
LEGACY_INLINE constexpr float Power(ComplexFloat x, float scale) {
  const float r = x.re * scale, i = x.im * scale;
  return 2 * (r * r + i * i);
}

// Returns the power of two that brings magnitudes up to `largest`, at most 2^126, near 1, so that
// squares neither overflow nor vanish.
constexpr float SpectrumScale(float largest) {
  constexpr int kMantissa = 23, kBias = 127, kMostExponent = 126;
  if (largest == 0) return 1;
  const int exact = -ExponentOfKey(KeyOf(largest));
  const int exponent = exact < kMostExponent ? exact : kMostExponent;
  return std::bit_cast<float>(static_cast<uint32_t>(exponent + kBias) << kMantissa);
}

}  // namespace legacy::cpu
