#include "compress/cpu/dct.h"

#include <cassert>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

namespace legacy::cpu {
namespace {

// Numbers of a product that stay in registers.
constexpr int64_t kTileRows = 4;
constexpr int64_t kTileColumns = 16;

// Matrices by their first number, and the distance of their rows.
struct Factor {
  const float* at;
  int64_t stride;
};
struct Product {
  float* at;
  int64_t stride;
};

// Four numbers in one register of every instruction set, and a row of a tile.
using Four = float __attribute__((vector_size(16)));
constexpr int64_t kTileFours = kTileColumns / 4;

// Computes a tile of a product of depth `depth`.
LEGACY_INLINE void Tile(Factor a, Factor b, int64_t depth, Product out) {
  Four sums[kTileRows][kTileFours] = {};
  for (int64_t k = 0; k < depth; ++k) {
    Four row[kTileFours];
    __builtin_memcpy(row, b.at + k * b.stride, sizeof row);
#pragma GCC unroll 4
    for (int64_t i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 4
      for (int64_t j = 0; j < kTileFours; ++j) sums[i][j] += a.at[i * a.stride + k] * row[j];
    }
  }
  for (int64_t i = 0; i < kTileRows; ++i) {
    __builtin_memcpy(out.at + i * out.stride, sums[i], sizeof sums[i]);
  }
}

// Computes a part of a tile, of `rows` x `columns` numbers.
LEGACY_INLINE void Part(Factor a, Factor b, int64_t rows, int64_t depth, int64_t columns,
                        Product out) {
  float sums[kTileRows][kTileColumns] = {};
  for (int64_t k = 0; k < depth; ++k) {
    const float* row = b.at + k * b.stride;
    for (int64_t i = 0; i < rows; ++i) {
      const float factor = a.at[i * a.stride + k];
      for (int64_t j = 0; j < columns; ++j) sums[i][j] += factor * row[j];
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) out.at[i * out.stride + j] = sums[i][j];
  }
}

// Multiplies a matrix of rows x depth by one of depth x columns.
LEGACY_INLINE void Multiply(Factor a, Factor b, int64_t rows, int64_t depth, int64_t columns,
                            Product out) {
  for (int64_t i = 0; i < rows; i += kTileRows) {
    for (int64_t j = 0; j < columns; j += kTileColumns) {
      const Factor left = {a.at + i * a.stride, a.stride}, right = {b.at + j, b.stride};
      const Product to = {out.at + i * out.stride + j, out.stride};
      if (rows - i >= kTileRows && columns - j >= kTileColumns) {
        Tile(left, right, depth, to);
      } else {
        Part(left, right, rows - i < kTileRows ? rows - i : kTileRows, depth,
             columns - j < kTileColumns ? columns - j : kTileColumns, to);
      }
    }
  }
}

}  // namespace

int64_t ChunkLength(int64_t length, int64_t target) {
  assert(length >= 1 && target >= 1);
  if (length <= target) return length;
  int64_t divisor = target;
  while (length % divisor != 0) --divisor;
  return divisor;
}

ChunkDct::ChunkDct(const ChunkGrid& grid)
    : grid_(grid),
      down_(grid.height > 1 ? FactorsOf(grid.height) : nullptr),
      along_(FactorsOf(grid.width)) {}

std::shared_ptr<const ChunkDct::Factors> ChunkDct::FactorsOf(int64_t length) {
  static std::mutex mutex;
  static std::map<int64_t, std::shared_ptr<const Factors>> made;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Factors>& known = made[length];
  if (known) return known;
  Factors factors{.rows = std::vector<float>(length * length),
                  .columns = std::vector<float>(length * length)};
  const auto n = static_cast<double>(length);
  for (int64_t j = 0; j < length; ++j) {
    const double scale = std::sqrt((j == 0 ? 1 : 2) / n);
    for (int64_t t = 0; t < length; ++t) {
      // The angle is reduced exactly, to less than a turn.
      const auto eighths = static_cast<double>((2 * t + 1) * j % (4 * length));
      const auto factor =
          static_cast<float>(scale * std::cos(std::numbers::pi * eighths / (2 * n)));
      factors.rows[j * length + t] = factor;
      factors.columns[t * length + j] = factor;
    }
  }
  return known = std::make_shared<const Factors>(std::move(factors));
}

void ChunkDct::Forward(std::span<const float> matrix, std::span<float> coefficients,
                       Simd simd) const {
  assert(std::ssize(matrix) == grid_.numel() && matrix.size() == coefficients.size());
  const Factor along = {along_->columns.data(), grid_.width};
  if (!down_ && grid_.width == grid_.columns) {  // all chunks are rows of one matrix
    Dispatch<Multiply>(simd, Factor{matrix.data(), grid_.width}, along, grid_.rows, grid_.width,
                       grid_.width, Product{coefficients.data(), grid_.width});
    return;
  }
  std::vector<float> half(down_ ? grid_.size() : 0);
  float* to = coefficients.data();
  ForEachChunk([&](int64_t first) {
    Dispatch<Multiply>(simd, Factor{matrix.data() + first, grid_.columns}, along, grid_.height,
                       grid_.width, grid_.width, Product{down_ ? half.data() : to, grid_.width});
    if (down_) {
      Dispatch<Multiply>(simd, Factor{down_->rows.data(), grid_.height},
                         Factor{half.data(), grid_.width}, grid_.height, grid_.height, grid_.width,
                         Product{to, grid_.width});
    }
    to += grid_.size();
  });
}

void ChunkDct::Inverse(std::span<const float> coefficients, std::span<float> matrix,
                       Simd simd) const {
  assert(std::ssize(matrix) == grid_.numel() && matrix.size() == coefficients.size());
  const Factor along = {along_->rows.data(), grid_.width};
  if (!down_ && grid_.width == grid_.columns) {
    Dispatch<Multiply>(simd, Factor{coefficients.data(), grid_.width}, along, grid_.rows,
                       grid_.width, grid_.width, Product{matrix.data(), grid_.width});
    return;
  }
  std::vector<float> half(down_ ? grid_.size() : 0);
  const float* from = coefficients.data();
  ForEachChunk([&](int64_t first) {
    const Product to = {matrix.data() + first, grid_.columns};
    Dispatch<Multiply>(simd, Factor{from, grid_.width}, along, grid_.height, grid_.width,
                       grid_.width, down_ ? Product{half.data(), grid_.width} : to);
    if (down_) {
      Dispatch<Multiply>(simd, Factor{down_->columns.data(), grid_.height},
                         Factor{half.data(), grid_.width}, grid_.height, grid_.height, grid_.width,
                         to);
    }
    from += grid_.size();
  });
}

}  // namespace legacy::cpu
