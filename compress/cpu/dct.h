// The orthonormal cosine transform DCT-II of the chunks of a matrix (Ahmed, Natarajan and Rao,
// "Discrete Cosine Transform", IEEE Transactions on Computers 1974):
//
//   D[j][t] = s_j cos(pi (2 t + 1) j / 2 n),  s_0 = sqrt(1 / n), s_j = sqrt(2 / n)
//   C = D_h E D_w^T for a chunk E of h x w;  E = D_h^T C D_w
//
// Each direction takes two matrix products, which are h + w multiply-adds per element. Factors are
// rounded once from double precision; products are summed in fp32 in the order of their index,
// without fused operations, so that every instruction set gives the same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/simd.h"

namespace legacy::cpu {

// A matrix of rows x columns, row after row, in chunks of height x width, which divide both.
struct ChunkGrid {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t height = 1;
  int64_t width = 1;

  int64_t numel() const { return rows * columns; }
  int64_t size() const { return height * width; }
  int64_t chunks() const { return numel() / size(); }
};

// Returns the largest divisor of `length` >= 1 that is at most `target`.
int64_t ChunkLength(int64_t length, int64_t target);

// Transforms the chunks of one grid.
class ChunkDct {
 public:
  explicit ChunkDct(const ChunkGrid& grid);
  const ChunkGrid& grid() const { return grid_; }

  // Writes the coefficients of chunk after chunk, row of chunks by row of chunks; those of a chunk
  // row by row. All spans have numel() numbers and do not overlap.
  void Forward(std::span<const float> matrix, std::span<float> coefficients,
               Simd simd = ActiveSimd()) const;
  // Writes the matrix of coefficients.
  void Inverse(std::span<const float> coefficients, std::span<float> matrix,
               Simd simd = ActiveSimd()) const;

  // D and D^T of a length, row after row.
  struct Factors {
    std::vector<float> rows, columns;
  };
  static std::shared_ptr<const Factors> FactorsOf(int64_t length);

 private:
  // Calls body(first) with the position of each chunk's first number in the matrix.
  template <typename Body>
  void ForEachChunk(Body body) const {
    for (int64_t r = 0; r < grid_.rows; r += grid_.height) {
      for (int64_t c = 0; c < grid_.columns; c += grid_.width) body(r * grid_.columns + c);
    }
  }

  ChunkGrid grid_;
  std::shared_ptr<const Factors> down_;   // of the height; null if it is 1
  std::shared_ptr<const Factors> along_;  // of the width
};

}  // namespace legacy::cpu
