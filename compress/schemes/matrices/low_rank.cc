#include "compress/schemes/matrices/low_rank.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "compress/cpu/vector.h"

namespace legacy {
namespace {

constexpr int64_t kOversampling = 8;

// Returns the dot product, summed in sixteen lanes that are folded by halves.
float Dot(const float* a, const float* b, int64_t length) {
  constexpr int kLanes = 16;
  std::array<float, kLanes> sums{};
  const int64_t whole = length / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (int64_t i = whole; i < length; ++i) sums[i - whole] += a[i] * b[i];
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

double DoubleDot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Subtracts from the vector its projections on the basis so far.
void Project(const std::vector<std::vector<double>>& basis, std::vector<double>& vector) {
  for (const std::vector<double>& other : basis) {
    const double along = DoubleDot(other, vector);
    for (size_t i = 0; i < vector.size(); ++i) vector[i] -= along * other[i];
  }
}

// Returns the eigenvalues of B B^T in descending order, which are the squares of B's singular
// values. `vectors` are the rows of B.
std::vector<double> SquaredSingularValues(std::span<const float> vectors, int64_t length) {
  const auto count = static_cast<int64_t>(vectors.size()) / length;
  const std::vector<double> wide(vectors.begin(), vectors.end());
  Eigen::MatrixXd gram(count, count);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      gram(i, j) = gram(j, i) = DoubleDot(std::span(wide).subspan(i * length, length),
                                          std::span(wide).subspan(j * length, length));
    }
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram, Eigen::EigenvaluesOnly);
  std::vector<double> values(solver.eigenvalues().begin(), solver.eigenvalues().end());
  std::ranges::reverse(values);
  return values;
}

// Returns the squared singular values of M's projection on the range that random vectors find; the
// largest approximate M's.
std::vector<double> LargestSquares(std::span<const float> matrix, MatrixShape shape, int64_t count,
                                   const RandomKey& key) {
  std::vector<float> right(count * shape.columns), left(count * shape.rows);
  for (int64_t c = 0; c < count; ++c) {
    DrawVector(key, c, std::span(right).subspan(c * shape.columns, shape.columns));
  }
  for (int round = 0; round <= kRankErrorRounds; ++round) {
    Multiply(matrix, shape, right, left);
    Orthonormalise(left, shape.rows);
    MultiplyTransposed(matrix, shape, left, right);
    if (round < kRankErrorRounds) Orthonormalise(right, shape.columns);
  }
  return SquaredSingularValues(right, shape.columns);
}

}  // namespace

void Multiply(std::span<const float> matrix, MatrixShape shape, std::span<const float> vectors,
              std::span<float> product) {
  const auto [rows, columns] = shape;
  assert(static_cast<int64_t>(matrix.size()) == rows * columns);
  const int64_t count = columns == 0 ? 0 : static_cast<int64_t>(vectors.size()) / columns;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t c = 0; c < count; ++c) {
      product[c * rows + i] =
          Dot(matrix.data() + i * columns, vectors.data() + c * columns, columns);
    }
  }
}

void MultiplyTransposed(std::span<const float> matrix, MatrixShape shape,
                        std::span<const float> vectors, std::span<float> product) {
  std::ranges::fill(product, 0.0f);
  const auto [rows, columns] = shape;
  const int64_t count = rows == 0 ? 0 : static_cast<int64_t>(vectors.size()) / rows;
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = matrix.data() + i * columns;
    for (int64_t c = 0; c < count; ++c) {
      const float factor = vectors[c * rows + i];
      float* sum = product.data() + c * columns;
      for (int64_t j = 0; j < columns; ++j) sum[j] += factor * row[j];
    }
  }
}

void MultiplyOuter(std::span<const float> left, std::span<const float> right, MatrixShape shape,
                   std::span<float> matrix) {
  std::ranges::fill(matrix, 0.0f);
  const auto [rows, columns] = shape;
  const int64_t count = rows == 0 ? 0 : static_cast<int64_t>(left.size()) / rows;
  for (int64_t i = 0; i < rows; ++i) {
    float* row = matrix.data() + i * columns;
    for (int64_t c = 0; c < count; ++c) {
      const float factor = left[c * rows + i];
      const float* other = right.data() + c * columns;
      for (int64_t j = 0; j < columns; ++j) row[j] += factor * other[j];
    }
  }
}

void Orthonormalise(std::span<float> vectors, int64_t length) {
  if (length == 0) return;
  std::vector<std::vector<double>> basis;
  for (size_t begin = 0; begin < vectors.size(); begin += length) {
    const auto out = vectors.subspan(begin, length);
    std::vector<double> vector(out.begin(), out.end());
    const double before = std::sqrt(DoubleDot(vector, vector));
    Project(basis, vector);
    // The second pass removes what rounding left in the first.
    Project(basis, vector);
    const double after = std::sqrt(DoubleDot(vector, vector));
    if (after <= kDependent * before) {
      std::ranges::fill(out, 0.0f);
      continue;
    }
    for (double& x : vector) x /= after;
    std::ranges::transform(vector, out.begin(), [](double x) { return static_cast<float>(x); });
    basis.push_back(std::move(vector));
  }
}

void DrawVector(RandomKey key, int64_t index, std::span<float> vector) {
  key.worker = static_cast<uint32_t>(index);
  key.purpose = Purpose::kSketch;
  RandomStream stream(key);
  for (float& x : vector) x = static_cast<float>(stream.Normal());
}

int64_t RankErrorVectors(MatrixShape shape, std::span<const int64_t> ranks) {
  const int64_t full = std::min(shape.rows, shape.columns);
  if (ranks.empty()) return 0;
  return std::min(*std::ranges::max_element(ranks) + kOversampling, full);
}

std::vector<double> RankErrors(std::span<const float> matrix, MatrixShape shape,
                               std::span<const int64_t> ranks, const RandomKey& key) {
  const int64_t full = std::min(shape.rows, shape.columns);
  const int64_t count = RankErrorVectors(shape, ranks);
  if (count == 0) return std::vector<double>(ranks.size(), 0.0);
  const std::vector<double> squares = LargestSquares(matrix, shape, count, key);
  const double total = cpu::SquaredNorm(matrix);
  std::vector<double> errors;
  for (const int64_t rank : ranks) {
    double left = rank >= full ? 0 : total;
    for (int64_t i = 0; i < std::min(rank, count); ++i) left -= std::max(squares[i], 0.0);
    errors.push_back(std::max(left, 0.0));
  }
  return errors;
}

}  // namespace legacy
