// Matrices of low rank. A matrix is n rows of m values; a basis is its vectors one after the other.
// Everything runs on one core in one order of sums, so that bits are always the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace legacy {

// The size of a matrix.
struct MatrixShape {
  int64_t rows = 0;
  int64_t columns = 0;
};

// Computes product_c = M vector_c. `vectors` holds vectors of `columns` values, `product` as many
// vectors of `rows` values. Reads 4 bytes per element of M for all vectors together.
void Multiply(std::span<const float> matrix, MatrixShape shape, std::span<const float> vectors,
              std::span<float> product);

// Computes product_c = M^T vector_c, from vectors of `rows` values to vectors of `columns` values.
void MultiplyTransposed(std::span<const float> matrix, MatrixShape shape,
                        std::span<const float> vectors, std::span<float> product);

// Computes matrix = sum over c of left_c right_c^T. Left vectors have `rows` values, right ones
// `columns`.
void MultiplyOuter(std::span<const float> left, std::span<const float> right, MatrixShape shape,
                   std::span<float> matrix);

// A vector depends on those before it if less than this fraction of its length remains, which is
// within rounding to fp32.
inline constexpr double kDependent = 1e-7;

// Makes the vectors orthonormal by Gram-Schmidt in double precision, each vector twice. A vector
// that depends on those before it becomes zero.
void Orthonormalise(std::span<float> vectors, int64_t length);

// Draws vector c of standard normals, from (seed, step, layer, c) of the key alone.
void DrawVector(RandomKey key, int64_t index, std::span<float> vector);

// The number of power iterations in RankErrors, and the number of vectors that it draws for these
// ranks: 0 if there is nothing to compute.
inline constexpr int kRankErrorRounds = 2;
int64_t RankErrorVectors(MatrixShape shape, std::span<const int64_t> ranks);

// Returns ||M - best M of rank r||^2 (Frobenius) for each of `ranks`, from one randomised range
// finder (Halko, Martinsson and Tropp, SIAM Review 2011, section 4.5) of max(ranks) + 8 vectors and
// two power iterations. A result is never below the truth by more than rounding, never rises with
// the rank, and is 0 at full rank.
std::vector<double> RankErrors(std::span<const float> matrix, MatrixShape shape,
                               std::span<const int64_t> ranks, const RandomKey& key);

}  // namespace legacy
