// The products of PowerSGD as calls of BLAS, which takes column-major matrices. To BLAS, a
// row-major matrix M of n x m is A = M^T of m x n with leading dimension m; vectors of length l,
// one after the other, are the columns of a matrix with leading dimension l. Therefore
//
//   P = M Q      P = op(A) Q, op transposing    n x r, of k = m
//   Q = M^T P    Q = A P                        m x r, of k = n
#pragma once

#include <cstdint>
#include <span>

#include "compress/cuda/device/host_device.h"

namespace legacy::cuda {

// Matrices `first` to first + count - 1, all of rows x columns and multiplied with as many vectors
// each.
struct MatrixGroup {
  int64_t rows = 0;
  int64_t columns = 0;
  int32_t vectors = 0;
  int64_t first = 0;
  int64_t count = 0;
};

// C = op(A) B in column-major order: C is m x n, and each element has k terms.
struct Gemm {
  bool transposes = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
};

constexpr Gemm LeftGemm(const MatrixGroup& of) {
  return {true, of.rows, of.vectors, of.columns, of.columns, of.columns, of.rows};
}
constexpr Gemm RightGemm(const MatrixGroup& of) {
  return {false, of.columns, of.vectors, of.rows, of.columns, of.rows, of.columns};
}

// Device pointers to arrays of device pointers, which point to the matrices of all groups.
struct ProductArrays {
  const float* const* matrices = nullptr;  // A
  const float* const* vectors = nullptr;   // B
  float* const* products = nullptr;        // C
};

// Computes products on the host, by the definition of gemm.
class HostProducts {
 public:
  void Left(HostDevice&, std::span<const MatrixGroup> groups, const ProductArrays& arrays) const {
    for (const MatrixGroup& group : groups) MultiplyEach(LeftGemm(group), group, arrays);
  }
  void Right(HostDevice&, std::span<const MatrixGroup> groups, const ProductArrays& arrays) const {
    for (const MatrixGroup& group : groups) MultiplyEach(RightGemm(group), group, arrays);
  }

 private:
  static void MultiplyEach(const Gemm& gemm, const MatrixGroup& group,
                           const ProductArrays& arrays) {
    for (int64_t i = group.first; i < group.first + group.count; ++i) {
      MultiplyOne(gemm, arrays.matrices[i], arrays.vectors[i], arrays.products[i]);
    }
  }
  static void MultiplyOne(const Gemm& gemm, const float* a, const float* b, float* c) {
    const int64_t row = gemm.transposes ? gemm.lda : 1, term = gemm.transposes ? 1 : gemm.lda;
    for (int64_t j = 0; j < gemm.n; ++j) {
      for (int64_t i = 0; i < gemm.m; ++i) {
        float sum = 0;
        for (int64_t t = 0; t < gemm.k; ++t) sum += a[i * row + t * term] * b[j * gemm.ldb + t];
        c[j * gemm.ldc + i] = sum;
      }
    }
  }
};

}  // namespace legacy::cuda
