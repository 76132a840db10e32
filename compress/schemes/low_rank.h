// Matrices of low rank. A matrix is n rows of m values; a basis is its vectors one after the other.
// One core, one order of sums: same bits always.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace legacy {

struct MatrixShape {
  int64_t rows = 0;
  int64_t columns = 0;
};

// product_c = M vector_c. `vectors` are of `columns` values, `product` are as many of `rows`. 4
// bytes read an element of M, for all vectors together.
void Multiply(std::span<const float> matrix, MatrixShape shape, std::span<const float> vectors,
              std::span<float> product);

// product_c = M^T vector_c: from vectors of `rows` values to ones of `columns`.
void MultiplyTransposed(std::span<const float> matrix, MatrixShape shape,
                        std::span<const float> vectors, std::span<float> product);

// matrix = sum over c of left_c right_c^T; left vectors are of `rows`, right ones of `columns`
// values.
void MultiplyOuter(std::span<const float> left, std::span<const float> right, MatrixShape shape,
                   std::span<float> matrix);

// Of a vector's length: what rounding to fp32 leaves of one that depends on those before it.
inline constexpr double kDependent = 1e-7;

// Gram-Schmidt in double precision, each vector twice. A vector that depends on those before it
// becomes zero.
void Orthonormalise(std::span<float> vectors, int64_t length);

// Standard normals; vector c from (seed, step, layer, c) of the key alone.
void DrawVector(RandomKey key, int64_t index, std::span<float> vector);

// Power rounds of RankErrors, and the vectors that it draws for these ranks: 0 where there is
// nothing to find.
inline constexpr int kRankErrorRounds = 2;
int64_t RankErrorVectors(MatrixShape shape, std::span<const int64_t> ranks);

// ||M - best M of rank r||^2 (Frobenius) for each of `ranks`, from one randomised range finder
// (Halko, Martinsson and Tropp, SIAM Review 2011, section 4.5) of max(ranks) + 8 vectors and two
// power rounds: never below the truth by more than rounding, never rising with the rank, 0 at full
// rank.
std::vector<double> RankErrors(std::span<const float> matrix, MatrixShape shape,
                               std::span<const int64_t> ranks, const RandomKey& key);

}  // namespace legacy
