// PowerSGD (compress/schemes/matrices/powersgd.h) on a GPU: one step handles all matrices of a
// model. Messages have the CPU's layout, and units that are sent whole have the CPU's bits. Factors
// are summed in another order. With u = 2^-24:
//
//   products   P_w = M_w Q, Q_w = M_w^T P: |error| <= k u / (1 - k u) sum |a b| for sums of k
//              terms, whatever the order; means of W workers add (W + 1) u of sum |term|
//   P          vectors of the mean made orthonormal: |p_a . p_b - (a == b)| <= 2^-22; each within
//              its length times 2^-24 of what Gram-Schmidt in double precision, in the CPU's order,
//              gives, where at least 1e-4 of its length remains without the vectors before it
//   mean       P Q^T as the CPU sums it: its bits, from the same P and Q;
//              r = M - mean, rounded once
//
// The sent values and the residual therefore always add up to the input, whatever the errors of the
// factors are. If columns of M Q are nearly dependent, P and the CPU's P differ by these errors
// times the condition number of M Q. The result is deterministic: the same input gives the same
// bits on the same GPU with the same cuBLAS.
#pragma once

#include <memory>
#include <span>

#include "compress/cuda/device/stream_device.h"
#include "compress/cuda/kernels/transforms/powersgd_products.h"
#include "compress/model_exchange.h"
#include "compress/schemes/matrices/powersgd.h"

namespace legacy::cuda {

// Computes products by cuBLAS in fp32, never TF32, with a call for each group; 4 bytes are read per
// element of the matrices. A CUDA graph can capture the calls after a first call outside it, in
// which cuBLAS loads its kernels, and must not outlive this object. Functions throw Error if cuBLAS
// refuses.
class BlasProducts {
 public:
  BlasProducts();
  BlasProducts(BlasProducts&&) noexcept;
  ~BlasProducts();
  void Left(StreamDevice& device, std::span<const MatrixGroup> groups, const ProductArrays& arrays);
  void Right(StreamDevice& device, std::span<const MatrixGroup> groups,
             const ProductArrays& arrays);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::unique_ptr<DeviceExchange> OpenPowerSgd(StreamDevice device, const PowerSgdScheme& scheme,
                                             std::span<const Unit> units, int workers);

}  // namespace legacy::cuda
