#include "compress/cpu/fft.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <numbers>
#include <utility>

#include "compress/cpu/fft_rules.h"

// Iterations of the loop are independent: none reads what another writes. Compilers cannot prove
// that for so many arrays.
#if defined(__clang__)
#define LEGACY_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define LEGACY_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace legacy::cpu {
namespace {

using Complex = RealFft::Complex;

// Real and imaginary parts in two arrays without aliases.
struct In {
  const float* re;
  const float* im;
};
struct Out {
  float* re;
  float* im;
};

// Returns cos(2 pi j / n), 0 <= j < n: exact at multiples of n / 4, and symmetric.
double Cosine(int64_t j, int64_t n) {
  if (2 * j > n) j = n - j;                         // cos(2 pi - t) = cos t
  if (4 * j > n) return -Cosine(n - 2 * j, 2 * n);  // cos(pi - t) = -cos t
  const double turn = 2 * std::numbers::pi / static_cast<double>(n);
  if (8 * j <= n) return std::cos(turn * static_cast<double>(j));
  return std::sin(turn * (static_cast<double>(n) / 4 - static_cast<double>(j)));
}

double Sine(int64_t j, int64_t n) { return Cosine((4 * j + 3 * n) % (4 * n), 4 * n); }

// Appends exp(-2 pi i j / n).
void AppendRoot(int64_t j, int64_t n, Complex& out) {
  out.re.push_back(static_cast<float>(Cosine(j % n, n)));
  out.im.push_back(static_cast<float>(-Sine(j % n, n)));
}

// Returns factors in the order in which Columns() reads them: w^p, w^2p, w^3p for p < n / 4 of each
// stage, and none for the last radix-2 stage.
Complex StockhamRoots(int64_t n) {
  Complex roots;
  for (; n >= 4; n /= 4) {
    for (int64_t p = 0; p < n / 4; ++p) {
      for (int64_t power = 1; power < 4; ++power) AppendRoot(power * p, n, roots);
    }
  }
  return roots;
}

// Computes a radix-4 butterfly of `width` neighbours, with inputs `step` apart and outputs `width`
// apart.
LEGACY_INLINE void Butterflies4(In from, int64_t step, Out to, int64_t width, In w) {
  const ComplexFloat w1 = {w.re[0], w.im[0]}, w2 = {w.re[1], w.im[1]}, w3 = {w.re[2], w.im[2]};
  const float* __restrict ar = from.re;
  const float* __restrict ai = from.im;
  float* __restrict yr = to.re;
  float* __restrict yi = to.im;
  LEGACY_INDEPENDENT
  for (int64_t q = 0; q < width; ++q) {
    const FourNumbers y = Butterfly4({{ar[q], ai[q]},
                                      {ar[q + step], ai[q + step]},
                                      {ar[q + 2 * step], ai[q + 2 * step]},
                                      {ar[q + 3 * step], ai[q + 3 * step]}},
                                     w1, w2, w3);
    yr[q] = y.y0.re;
    yi[q] = y.y0.im;
    yr[q + width] = y.y1.re;
    yi[q + width] = y.y1.im;
    yr[q + 2 * width] = y.y2.re;
    yi[q + 2 * width] = y.y2.im;
    yr[q + 3 * width] = y.y3.re;
    yi[q + 3 * width] = y.y3.im;
  }
}

LEGACY_INLINE void Butterflies2(In from, int64_t step, Out to) {
  const float* __restrict ar = from.re;
  const float* __restrict ai = from.im;
  float* __restrict yr = to.re;
  float* __restrict yi = to.im;
  LEGACY_INDEPENDENT
  for (int64_t q = 0; q < step; ++q) {
    const float sr = ar[q] + ar[q + step], si = ai[q] + ai[q + step];
    const float dr = ar[q] - ar[q + step], di = ai[q] - ai[q + step];
    yr[q] = sr;
    yi[q] = si;
    yr[q + step] = dr;
    yi[q + step] = di;
  }
}

// Transforms the columns of a matrix of n rows, `a`. The result is in `a` or in `b`; returns true
// if it is in `b`.
LEGACY_INLINE bool Columns(int64_t n, int64_t columns, Out a, Out b, In roots) {
  bool swapped = false;
  int64_t width = columns;
  const int64_t size = n * columns;
  for (; n >= 4; n /= 4, width *= 4) {
    for (int64_t p = 0; p < n / 4; ++p) {
      Butterflies4({a.re + p * width, a.im + p * width}, size / 4,
                   {b.re + 4 * p * width, b.im + 4 * p * width}, width, roots);
      roots.re += 3;
      roots.im += 3;
    }
    std::swap(a, b);
    swapped = !swapped;
  }
  if (n == 2) {
    Butterflies2({a.re, a.im}, size / 2, b);
    swapped = !swapped;
  }
  return swapped;
}

// Computes b[c][r] = a[r][c] w[r][c]. Tiles keep both sides in few cache lines.
LEGACY_INLINE void TwistAndTranspose(In a, In w, int64_t rows, int64_t columns, Out b) {
  constexpr int64_t kTile = 4;  // divides every power of two from 4 on
  float tile_re[kTile][kTile], tile_im[kTile][kTile];
  for (int64_t r = 0; r < rows; r += kTile) {
    for (int64_t c = 0; c < columns; c += kTile) {
      for (int64_t i = 0; i < kTile; ++i) {
        const int64_t at = (r + i) * columns + c;
        for (int64_t j = 0; j < kTile; ++j) {
          const ComplexFloat b = Times({a.re[at + j], a.im[at + j]}, {w.re[at + j], w.im[at + j]});
          tile_re[i][j] = b.re;
          tile_im[i][j] = b.im;
        }
      }
      for (int64_t j = 0; j < kTile; ++j) {
        for (int64_t i = 0; i < kTile; ++i) {
          b.re[(c + j) * rows + r + i] = tile_re[i][j];
          b.im[(c + j) * rows + r + i] = tile_im[i][j];
        }
      }
    }
  }
}

using Tables = RealFft::Tables;

LEGACY_INLINE In Data(const Complex& numbers) { return {numbers.re.data(), numbers.im.data()}; }

// Computes the complex transform of `a`, in natural order, into the returned array; `b` has the
// same size.
LEGACY_INLINE Out Transform(const Tables& plan, Out a, Out b) {
  if (Columns(plan.rows, plan.columns, a, b, Data(plan.row_roots))) std::swap(a, b);
  TwistAndTranspose({a.re, a.im}, Data(plan.twiddles), plan.rows, plan.columns, b);
  std::swap(a, b);
  if (Columns(plan.columns, plan.rows, a, b, Data(plan.column_roots))) std::swap(a, b);
  return a;
}

struct Scratch {
  Out a, b;
};

LEGACY_INLINE Scratch Split(float* scratch, int64_t half) {
  return {{scratch, scratch + half}, {scratch + 2 * half, scratch + 3 * half}};
}

// Treats even and odd elements as one complex number: X = E + w^k O, where E and O are the parts of
// its transform Z that are symmetric and antisymmetric under k -> half - k with conjugation.
LEGACY_INLINE void ForwardBody(const Tables* plan, const float* __restrict values,
                               float* __restrict re, float* __restrict im, float* scratch) {
  const int64_t half = plan->rows * plan->columns;
  const Scratch split = Split(scratch, half);
  const float scale = plan->scale / 2;
  float* __restrict even = split.a.re;
  float* __restrict odd = split.a.im;
  LEGACY_INDEPENDENT
  for (int64_t j = 0; j < half; ++j) {
    even[j] = values[2 * j] * scale;
    odd[j] = values[2 * j + 1] * scale;
  }
  const Out z = Transform(*plan, split.a, split.b);
  re[0] = FirstReal({z.re[0], z.im[0]});
  im[0] = 0;
  re[half] = LastReal({z.re[0], z.im[0]});
  im[half] = 0;
  const float* __restrict zr = z.re;
  const float* __restrict zi = z.im;
  const float* __restrict yr = z.re + half;
  const float* __restrict yi = z.im + half;
  const float* __restrict wr = plan->real_roots.re.data();
  const float* __restrict wi = plan->real_roots.im.data();
  LEGACY_INDEPENDENT
  for (int64_t k = 1; k < half; ++k) {
    const ComplexFloat x = SplitReal({zr[k], zi[k]}, {yr[-k], yi[-k]}, {wr[k], wi[k]});
    re[k] = x.re;
    im[k] = x.im;
  }
}

// Inverts: Z = E + i O. The inverse transform is the forward one with real and imaginary arrays
// exchanged.
LEGACY_INLINE void InverseBody(const Tables* plan, const float* __restrict re,
                               const float* __restrict im, float* __restrict values,
                               float* scratch) {
  const int64_t half = plan->rows * plan->columns;
  const Scratch split = Split(scratch, half);
  const float scale = plan->scale;
  float* __restrict zr = split.a.re;
  float* __restrict zi = split.a.im;
  const ComplexFloat first = JoinFirst(re[0], re[half], scale);
  zr[0] = first.re;
  zi[0] = first.im;
  const float* __restrict yr = re + half;
  const float* __restrict yi = im + half;
  const float* __restrict wr = plan->real_roots.re.data();
  const float* __restrict wi = plan->real_roots.im.data();
  LEGACY_INDEPENDENT
  for (int64_t k = 1; k < half; ++k) {
    const ComplexFloat z = JoinReal({re[k], im[k]}, {yr[-k], yi[-k]}, {wr[k], wi[k]}, scale);
    zr[k] = z.re;
    zi[k] = z.im;
  }
  const Out x = Transform(*plan, {split.a.im, split.a.re}, {split.b.im, split.b.re});
  const float* __restrict odd = x.re;
  const float* __restrict even = x.im;
  for (int64_t j = 0; j < half; ++j) {
    values[2 * j] = even[j];
    values[2 * j + 1] = odd[j];
  }
}

}  // namespace

RealFft::RealFft(int64_t length, Simd simd) : length_(length), simd_(simd) {
  assert(length >= 1);
  if (length < kFastFft || !std::has_single_bit(static_cast<uint64_t>(length))) {
    for (int64_t j = 0; j < length; ++j) {
      cosines_.push_back(Cosine(j, length));
      sines_.push_back(Sine(j, length));
    }
    return;
  }
  const int64_t half = length / 2;
  const int log = std::bit_width(static_cast<uint64_t>(half)) - 1;
  scratch_size_ = 4 * static_cast<size_t>(half);
  fast_.rows = int64_t{1} << ((log + 1) / 2);
  fast_.columns = half / fast_.rows;
  fast_.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(length)));
  fast_.row_roots = StockhamRoots(fast_.rows);
  fast_.column_roots = StockhamRoots(fast_.columns);
  for (int64_t r = 0; r < fast_.rows; ++r) {
    for (int64_t c = 0; c < fast_.columns; ++c) AppendRoot(r * c, half, fast_.twiddles);
  }
  for (int64_t k = 0; k < half; ++k) AppendRoot(k, length, fast_.real_roots);
}

void RealFft::Forward(const float* values, float* re, float* im, float* scratch) const {
  if (fast_.rows == 0) return DirectForward(values, re, im);
  Dispatch<ForwardBody>(simd_, &fast_, values, re, im, scratch);
}

void RealFft::Inverse(const float* re, const float* im, float* values, float* scratch) const {
  if (fast_.rows == 0) return DirectInverse(re, im, values);
  Dispatch<InverseBody>(simd_, &fast_, re, im, values, scratch);
}

void RealFft::DirectForward(const float* values, float* re, float* im) const {
  const double scale = 1 / std::sqrt(static_cast<double>(length_));
  for (int64_t k = 0; k < bins(); ++k) {
    double real = 0, imaginary = 0;
    for (int64_t j = 0, at = 0; j < length_; ++j, at = (at + k) % length_) {
      real += values[j] * cosines_[at];
      imaginary -= values[j] * sines_[at];
    }
    re[k] = static_cast<float>(real * scale);
    im[k] = 2 * k % length_ == 0 ? 0.0f : static_cast<float>(imaginary * scale);
  }
}

void RealFft::DirectInverse(const float* re, const float* im, float* values) const {
  const double scale = 1 / std::sqrt(static_cast<double>(length_));
  for (int64_t j = 0; j < length_; ++j) {
    double sum = 0;
    for (int64_t k = 0, at = 0; k < bins(); ++k, at = (at + j) % length_) {
      const bool own = 2 * k % length_ == 0;  // a bin that is its own conjugate counts once
      sum += own ? re[k] * cosines_[at] : 2 * (re[k] * cosines_[at] - im[k] * sines_[at]);
    }
    values[j] = static_cast<float>(sum * scale);
  }
}

}  // namespace legacy::cpu
