// PowerSGD (compress/schemes/powersgd.h) on a GPU: the step of all matrices of a model at once.
// Messages have the CPU's layout, and what is sent whole is equal to the bit. Factors are sums in
// another order. With u = 2^-24:
//
//   products   P_w = M_w Q, Q_w = M_w^T P: |error| <= k u / (1 - k u) sum |a b| for sums of k
//              terms, whatever the order; means of W workers add (W + 1) u of sum |term|
//   P          vectors of the mean made orthonormal: |p_a . p_b - (a == b)| <= 2^-22; each within
//              its length times 2^-24 of what Gram-Schmidt in double precision, in the CPU's order,
//              gives, where at least 1e-4 of its length stands apart from the vectors before it
//   mean       P Q^T as the CPU sums it: its bits, from the same P and Q;
//              r = M - mean, rounded once
//
// So what is sent and the residual together are what came in, whatever the errors of the factors
// are. Where columns of M Q are nearly dependent, P and CPU's P differ by these errors times the
// condition of M Q.
// Deterministic: the same input gives the same bits on the same GPU with the same cuBLAS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compress/cuda/device/stream.h"
#include "compress/cuda/kernels/transforms/orthonormalise_kernels.h"
#include "compress/cuda/kernels/transforms/powersgd_products.h"
#include "compress/cuda/kernels/transforms/powersgd_table.h"
#include "compress/model_exchange.h"
#include "compress/schemes/powersgd.h"

namespace legacy::cuda {

// Products by cuBLAS in fp32, never TF32: a call for each group, 4 bytes read an element of the
// matrices. They can be captured in a CUDA graph, once they were called before (cuBLAS loads its
// kernels then); it lives no longer than this. Throw Error where cuBLAS refuses.
class BlasProducts {
 public:
  BlasProducts();
  BlasProducts(BlasProducts&&) noexcept;
  ~BlasProducts();
  void Left(Stream stream, std::span<const MatrixGroup> groups, const ProductArrays& arrays);
  void Right(Stream stream, std::span<const MatrixGroup> groups, const ProductArrays& arrays);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Vectors of bases made orthonormal in place: 4 bytes read and written a float, and `work` doubles
// (SetWork) gone through once for each group of 8 vectors before. One launch, a block for each
// basis. Throws Error where it is refused.
void Orthonormalise(const Basis* bases, int64_t count, float* vectors, double* work, Stream stream);

// mean = P Q^T for all units of the table, `view` that of its copy on the device; those that are
// sent whole get 0 / 0. `faults`, one for each unit, from 0: see FaultAt() in powersgd_kernels.h. 4
// bytes written an element.
void MultiplyFactors(const LowRankTable& table, const LowRankView& view, const float* left,
                     const float* right, float* mean, uint32_t* faults, Stream stream);

std::unique_ptr<DeviceExchange> OpenPowerSgd(Stream stream, const PowerSgdScheme& scheme,
                                             std::span<const Unit> units, int workers);

}  // namespace legacy::cuda
