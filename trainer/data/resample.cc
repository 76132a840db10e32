#include "trainer/data/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace legacy {
namespace {

constexpr int kPixelValues = 4;  // of a pixel in the window

constexpr int kGroup = 4;  // pixels that a horizontal step takes at once

using OnePixel = float __attribute__((vector_size(kPixelValues * sizeof(float))));
using TwoPixels = float __attribute__((vector_size(2 * kPixelValues * sizeof(float))));

// Two pixels at an address that need not be aligned. (A copy into a vector would go through memory
// in steps of 16 bytes.)
struct __attribute__((packed, may_alias)) TwoPixelsAnywhere {
  TwoPixels values;
};

// Taps are the weights of one axis: output i is the sum of weight[i * most + t] times input
// first[i] + t, t < most. Weights after the last one are 0.
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
  // SumRows looks at four weights from each first one on.
  taps.weights.assign(static_cast<size_t>(size) * taps.most + 4, 0);
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

LEGACY_INLINE void ToFloats(const uint8_t* bytes, int64_t values, float* out) {
  for (int64_t x = 0; x < values; ++x) out[x] = static_cast<float>(bytes[x]);
}

// Writes the weighted sum of `count` rows of `values` floats.
LEGACY_INLINE void SumRows(const float* const* rows, const float* weights, int count,
                           int64_t values, float* __restrict out) {
  const float* __restrict first = rows[0];
  const float* __restrict second = rows[1];
  const float* __restrict third = rows[2];
  const float* __restrict fourth = rows[3];
  const float w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3];
  switch (count) {
    case 1:
      for (int64_t x = 0; x < values; ++x) out[x] = w0 * first[x];
      return;
    case 2:
      for (int64_t x = 0; x < values; ++x) out[x] = w0 * first[x] + w1 * second[x];
      return;
    case 3:
      for (int64_t x = 0; x < values; ++x) {
        out[x] = w0 * first[x] + w1 * second[x] + w2 * third[x];
      }
      return;
    default:
      for (int64_t x = 0; x < values; ++x) {
        out[x] = w0 * first[x] + w1 * second[x] + w2 * third[x] + w3 * fourth[x];
      }
      for (int t = 4; t < count; ++t) {
        const float* __restrict row = rows[t];
        for (int64_t x = 0; x < values; ++x) out[x] += weights[t] * row[x];
      }
  }
}

// Writes `size` pixels, each the weighted sum of `groups` times four neighbours in `row`. There is
// a copy of each weight for each value of a pixel. Sums have the same order, whatever the width of
// vectors: (0 + 2) + (1 + 3) for four pixels.
LEGACY_INLINE void SumPixels(const float* row, const int* first, const float* weights, int groups,
                             int size, float* out) {
  constexpr int kValues = kGroup * kPixelValues;
  for (int x = 0; x < size; ++x) {
    const float* from = row + int64_t{kPixelValues} * first[x];
    const float* weight = weights + int64_t{x} * groups * kValues;
    TwoPixels sum = {};
    for (int g = 0; g < groups; ++g, from += kValues, weight += kValues) {
      const auto* pixels = reinterpret_cast<const TwoPixelsAnywhere*>(from);
      const auto* factors = reinterpret_cast<const TwoPixelsAnywhere*>(weight);
      sum += pixels[0].values * factors[0].values + pixels[1].values * factors[1].values;
    }
    const OnePixel one = __builtin_shufflevector(sum, sum, 0, 1, 2, 3) +
                         __builtin_shufflevector(sum, sum, 4, 5, 6, 7);
    std::memcpy(out + int64_t{kPixelValues} * x, &one, sizeof(one));
  }
}

// Rounds a row of pixels and splits it into planes. `bytes` has room for the row.
LEGACY_INLINE void SplitRow(const float* pixels, int size, uint8_t* bytes, uint8_t* red,
                            uint8_t* green, uint8_t* blue) {
  for (int i = 0; i < kPixelValues * size; ++i) {
    bytes[i] = static_cast<uint8_t>(static_cast<int>(pixels[i] + 0.5f));
  }
  for (int x = 0; x < size; ++x) red[x] = bytes[4 * x];
  for (int x = 0; x < size; ++x) green[x] = bytes[4 * x + 1];
  for (int x = 0; x < size; ++x) blue[x] = bytes[4 * x + 2];
}

// The data that ResampleRows reads and writes.
struct RowWork {
  const uint8_t* pixels;  // of the first column that is read
  size_t stride;
  int64_t values;               // floats of a row
  const int* columns;           // first column of each output
  const float* column_weights;  // for each value of `groups` x 4 pixels
  int groups;
  const Taps* rows;
  int size;
  float* sums;     // of one row
  float* line;     // one row of the output
  uint8_t* bytes;  // the same, rounded
  float* ring;     // the last `ring_rows` rows of the window as floats
  int ring_rows;
  const float** taken;  // the rows of one sum, at least four
  uint8_t* out;
};

LEGACY_INLINE void ResampleRows(const RowWork* work) {
  const int64_t plane = int64_t{1} * work->size * work->size;
  const int most = work->rows->most;
  int converted = 0;  // rows before this one lie in the ring
  for (int y = 0; y < work->size; ++y) {
    const float* weights = work->rows->weights.data() + int64_t{y} * most;
    const int first = work->rows->first[static_cast<size_t>(y)];
    int count = most;
    while (count > 1 && weights[count - 1] == 0) --count;
    for (converted = std::max(converted, first); converted < first + count; ++converted) {
      ToFloats(work->pixels + static_cast<size_t>(converted) * work->stride, work->values,
               work->ring + converted % work->ring_rows * work->values);
    }
    for (int t = 0; t < count; ++t) {
      work->taken[t] = work->ring + (first + t) % work->ring_rows * work->values;
    }
    SumRows(work->taken, weights, count, work->values, work->sums);
    SumPixels(work->sums, work->columns, work->column_weights, work->groups, work->size,
              work->line);
    uint8_t* out = work->out + int64_t{y} * work->size;
    SplitRow(work->line, work->size, work->bytes, out, out + plane, out + 2 * plane);
  }
}

}  // namespace

void Resample(const PixelWindow& window, const AxisBox& columns, const AxisBox& rows, int size,
              bool flip, uint8_t* out, cpu::Simd simd) {
  Taps taps = MakeTaps(columns, size);
  const Taps row_taps = MakeTaps(rows, size);
  const int first_column = *std::ranges::min_element(taps.first);
  for (int& first : taps.first) first -= first_column;
  const int groups = (taps.most + kGroup - 1) / kGroup;
  const int group_values = groups * kGroup * kPixelValues;
  std::vector<float> column_weights(static_cast<size_t>(size) * group_values);
  if (flip) std::ranges::reverse(taps.first);
  for (int x = 0; x < size; ++x) {
    const float* from =
        taps.weights.data() + static_cast<ptrdiff_t>(flip ? size - 1 - x : x) * taps.most;
    float* to = column_weights.data() + static_cast<ptrdiff_t>(x) * group_values;
    for (int t = 0; t < taps.most; ++t) std::fill_n(to + kPixelValues * t, kPixelValues, from[t]);
  }
  const int64_t values = int64_t{kPixelValues} * (columns.end - first_column);
  // Pixels after the last one have weights of 0.
  std::vector<float> sums(static_cast<size_t>(values + group_values));
  std::vector<float> line(static_cast<size_t>(kPixelValues) * size);
  std::vector<uint8_t> bytes(line.size());
  // SumRows looks at four rows and weights, whatever their number.
  const int ring_rows = std::max(row_taps.most, 4);
  std::vector<float> ring(static_cast<size_t>(values) * static_cast<size_t>(ring_rows));
  std::vector<const float*> taken(static_cast<size_t>(ring_rows), ring.data());
  const RowWork work = {.pixels = window.pixels + static_cast<size_t>(kPixelValues) * first_column,
                        .stride = window.stride,
                        .values = values,
                        .columns = taps.first.data(),
                        .column_weights = column_weights.data(),
                        .groups = groups,
                        .rows = &row_taps,
                        .size = size,
                        .sums = sums.data(),
                        .line = line.data(),
                        .bytes = bytes.data(),
                        .ring = ring.data(),
                        .ring_rows = ring_rows,
                        .taken = taken.data(),
                        .out = out};
  cpu::Dispatch<ResampleRows>(simd, &work);
}

}  // namespace legacy
