// The singular values of a random matrix: Marchenko and Pastur, "Distribution of eigenvalues for
// some sets of random matrices", 1967. For an n x m matrix X of independent values of variance 1,
// n <= m, the eigenvalues of X X^T / m lie between (1 - c)^2 and (1 + c)^2 for c = sqrt(n / m),
// with mean 1. In x = 1 + c^2 + 2 c cos(a), 0 <= a <= pi from the largest down, their number and
// their sum up to a are, as parts of the whole,
//
//   number  (2 / pi) (-sin(a) / 2c + (1 + c^2) a / 4c^2 - (1 - c^2) / 2c^2 atan((1-c)/(1+c)
//   tan(a/2))) sum     (a - sin(a) cos(a)) / pi
//
// Sines and arctangents are the library's, whose last bits may differ between processors. The
// result only decides at which ranks an error is exceeded.
#pragma once

#include <cstdint>

#include "compress/schemes/matrices/low_rank.h"

namespace legacy {

// Returns g, the Frobenius norm of the error of the best approximation of rank `rank`, as a part of
// that of a random matrix: g^2 is the sum of all but the `rank` largest eigenvalues, as a part of
// the sum of all. It falls with the rank, from 1 at rank 0 to 0 at full rank.
double RandomMatrixError(MatrixShape shape, int64_t rank);

// Returns the least rank whose error is at most `error`, which is not negative.
int64_t RankOfRandomError(MatrixShape shape, double error);

}  // namespace legacy
