#include "trainer/data/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace legacy {
namespace {

constexpr int kPixelValues = 4;  // of a pixel in the window
constexpr int kLanes = 32;       // floats that a vertical step keeps in registers

using PixelSum = float __attribute__((vector_size(kPixelValues * sizeof(float))));

// Taps are the weights of one axis: output i is the sum of weight[i * most + t] times input
// first[i] + t, t < most. Weights behind the last one are 0.
struct Taps {
  int most = 0;
  std::vector<int> first;
  std::vector<float> weights;
};

Taps MakeTaps(const AxisBox& box, int size) {
  const double scale = box.length / size;
  const double width = std::max(scale, 1.0);  // of one side of the triangle
  Taps taps;
  taps.most = static_cast<int>(std::ceil(width)) * 2 + 1;
  taps.first.resize(static_cast<size_t>(size));
  taps.weights.assign(static_cast<size_t>(size) * taps.most, 0);
  std::vector<double> weights(static_cast<size_t>(taps.most));
  int used = 1;
  for (int i = 0; i < size; ++i) {
    const double centre = box.begin + (i + .5) * scale;
    int first = std::max(box.first, static_cast<int>(std::floor(centre - width + .5)));
    int end = std::min(box.end, static_cast<int>(std::floor(centre + width + .5)));
    first = std::min(first, box.end - 1);
    end = std::clamp(end, first + 1, first + taps.most);
    double sum = 0;
    for (int t = 0; t < end - first; ++t) {
      const double distance = std::abs((first + t + .5 - centre) / width);
      weights[static_cast<size_t>(t)] = std::max(0.0, 1 - distance);
      sum += weights[static_cast<size_t>(t)];
    }
    if (!(sum > 0)) weights[0] = sum = 1;  // the pixel at the edge
    taps.first[static_cast<size_t>(i)] = first;
    for (int t = 0; t < end - first; ++t) {
      const double weight = weights[static_cast<size_t>(t)] / sum;
      taps.weights[static_cast<size_t>(i) * taps.most + t] = static_cast<float>(weight);
      if (weight > 0) used = std::max(used, t + 1);
    }
  }
  // Most filters have fewer weights than their width allows.
  for (int i = 0; used < taps.most && i < size; ++i) {
    std::copy_n(taps.weights.begin() + static_cast<std::ptrdiff_t>(i) * taps.most, used,
                taps.weights.begin() + static_cast<std::ptrdiff_t>(i) * used);
  }
  taps.most = std::min(used, taps.most);
  return taps;
}

// Writes the weighted sum of `count` rows of bytes; `values` is a multiple of kLanes.
LEGACY_INLINE void SumRows(const uint8_t* const* rows, const float* weights, int count,
                           int64_t values, float* out) {
  for (int64_t x = 0; x < values; x += kLanes) {
    float sums[kLanes] = {};
    for (int t = 0; t < count; ++t) {
      const uint8_t* row = rows[t] + x;
      for (int i = 0; i < kLanes; ++i) sums[i] += weights[t] * static_cast<float>(row[i]);
    }
    for (int i = 0; i < kLanes; ++i) out[x + i] = sums[i];
  }
}

template <int kTaps>
LEGACY_INLINE void SumPixelsOf(const float* row, const int* first, const float* weights, int most,
                               int size, float* out) {
  const int taps = kTaps > 0 ? kTaps : most;
  for (int x = 0; x < size; ++x) {
    const float* from = row + int64_t{kPixelValues} * first[x];
    const float* weight = weights + int64_t{x} * most;
    PixelSum sum = {.5f, .5f, .5f, .5f};  // rounds to the nearest
    for (int t = 0; t < taps; ++t) {
      PixelSum pixel;
      std::memcpy(&pixel, from + int64_t{kPixelValues} * t, sizeof(pixel));
      sum += weight[t] * pixel;
    }
    std::memcpy(out + int64_t{kPixelValues} * x, &sum, sizeof(sum));
  }
}

// Writes `size` pixels, each the weighted sum of `most` neighbours in `row`.
LEGACY_INLINE void SumPixels(const float* row, const int* first, const float* weights, int most,
                             int size, float* out) {
  switch (most) {
    case 2:
      return SumPixelsOf<2>(row, first, weights, most, size, out);
    case 3:
      return SumPixelsOf<3>(row, first, weights, most, size, out);
    case 4:
      return SumPixelsOf<4>(row, first, weights, most, size, out);
    default:
      return SumPixelsOf<0>(row, first, weights, most, size, out);
  }
}

// Splits a row of pixels into planes of bytes.
LEGACY_INLINE void SplitRow(const float* pixels, int size, uint8_t* red, uint8_t* green,
                            uint8_t* blue) {
  for (int x = 0; x < size; ++x) red[x] = static_cast<uint8_t>(static_cast<int>(pixels[4 * x]));
  for (int x = 0; x < size; ++x) {
    green[x] = static_cast<uint8_t>(static_cast<int>(pixels[4 * x + 1]));
  }
  for (int x = 0; x < size; ++x) {
    blue[x] = static_cast<uint8_t>(static_cast<int>(pixels[4 * x + 2]));
  }
}

// What ResampleRows reads and writes.
struct RowWork {
  const uint8_t* pixels;  // of the first column that is read
  size_t stride;
  int last_row;
  int64_t values;  // floats of a row, a multiple of kLanes
  const Taps* columns;
  const Taps* rows;
  int size;
  float* sums;            // of one row
  float* line;            // one row of the output
  const uint8_t** taken;  // the rows of one sum
  uint8_t* out;
};

LEGACY_INLINE void ResampleRows(const RowWork* work) {
  const int64_t plane = int64_t{1} * work->size * work->size;
  const int most = work->rows->most;
  for (int y = 0; y < work->size; ++y) {
    for (int t = 0; t < most; ++t) {
      const int row = std::min(work->rows->first[static_cast<size_t>(y)] + t, work->last_row);
      work->taken[t] = work->pixels + static_cast<size_t>(row) * work->stride;
    }
    SumRows(work->taken, work->rows->weights.data() + int64_t{y} * most, most, work->values,
            work->sums);
    SumPixels(work->sums, work->columns->first.data(), work->columns->weights.data(),
              work->columns->most, work->size, work->line);
    uint8_t* out = work->out + int64_t{y} * work->size;
    SplitRow(work->line, work->size, out, out + plane, out + 2 * plane);
  }
}

}  // namespace

void Resample(const PixelWindow& window, const AxisBox& columns, const AxisBox& rows, int size,
              bool flip, uint8_t* out, cpu::Simd simd) {
  Taps column_taps = MakeTaps(columns, size);
  const Taps row_taps = MakeTaps(rows, size);
  const int first_column = *std::ranges::min_element(column_taps.first);
  for (int& first : column_taps.first) first -= first_column;
  if (flip) {
    std::ranges::reverse(column_taps.first);
    for (int x = 0; x < size / 2; ++x) {
      std::swap_ranges(
          column_taps.weights.begin() + static_cast<std::ptrdiff_t>(x) * column_taps.most,
          column_taps.weights.begin() + static_cast<std::ptrdiff_t>(x + 1) * column_taps.most,
          column_taps.weights.begin() +
              static_cast<std::ptrdiff_t>(size - 1 - x) * column_taps.most);
    }
  }
  const int64_t wanted = int64_t{kPixelValues} * (columns.end - first_column);
  const int64_t values = (wanted + kLanes - 1) / kLanes * kLanes;
  // Pixels behind the last one meet weights of 0.
  std::vector<float> sums(static_cast<size_t>(values + int64_t{kPixelValues} * column_taps.most));
  std::vector<float> line(static_cast<size_t>(kPixelValues) * size);
  std::vector<const uint8_t*> taken(static_cast<size_t>(row_taps.most));
  const RowWork work = {window.pixels + static_cast<size_t>(kPixelValues) * first_column,
                        window.stride,
                        rows.end - 1,
                        values,
                        &column_taps,
                        &row_taps,
                        size,
                        sums.data(),
                        line.data(),
                        taken.data(),
                        out};
  cpu::Dispatch<ResampleRows>(simd, &work);
}

}  // namespace legacy
