#include "compress/cuda/exchange/powersgd.h"

#include <cublas_v2.h>

#include <limits>
#include <string>

#include "compress/cuda/exchange/powersgd_exchange.h"

namespace legacy::cuda {
namespace {

// cuBLAS's manual recommends this size for an H100.
constexpr int64_t kBlasWorkspaceBytes = 32 << 20;

void CheckBlas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(std::string("cuBLAS, ") + what + ": " + cublasGetStatusString(status));
}

int ForBlas(int64_t size) {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  if (size <= kMost) return static_cast<int>(size);
  throw Error("rows, columns or number of matrices", std::to_string(size),
              "at most " + std::to_string(kMost));
}

}  // namespace

struct BlasProducts::State {
  State() : workspace(kBlasWorkspaceBytes) {
    CheckBlas(cublasCreate(&handle), "a handle");
    CheckBlas(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH), "its arithmetic");
  }
  ~State() { cublasDestroy(handle); }

  void Multiply(Stream stream, Gemm (*gemm_of)(const MatrixGroup&),
                std::span<const MatrixGroup> groups, const ProductArrays& arrays) {
    CheckBlas(cublasSetStream(handle, stream), "its stream");
    // For a new stream cuBLAS would allocate a work space of its own, which a graph cannot capture.
    CheckBlas(cublasSetWorkspace(handle, workspace.data(), workspace.bytes()), "its work space");
    for (const MatrixGroup& group : groups) {
      const Gemm gemm = gemm_of(group);
      const float one = 1, zero = 0;
      CheckBlas(cublasSgemmBatched(handle, gemm.transposes ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N,
                                   ForBlas(gemm.m), ForBlas(gemm.n), ForBlas(gemm.k), &one,
                                   arrays.matrices + group.first, ForBlas(gemm.lda),
                                   arrays.vectors + group.first, ForBlas(gemm.ldb), &zero,
                                   arrays.products + group.first, ForBlas(gemm.ldc),
                                   ForBlas(group.count)),
                "products");
    }
  }

  cublasHandle_t handle = nullptr;
  DeviceArray<StreamDevice, std::byte> workspace;
};

BlasProducts::BlasProducts() : state_(std::make_unique<State>()) {}
BlasProducts::BlasProducts(BlasProducts&&) noexcept = default;
BlasProducts::~BlasProducts() = default;

void BlasProducts::Left(StreamDevice& device, std::span<const MatrixGroup> groups,
                        const ProductArrays& arrays) {
  state_->Multiply(device.stream(), LeftGemm, groups, arrays);
}

void BlasProducts::Right(StreamDevice& device, std::span<const MatrixGroup> groups,
                         const ProductArrays& arrays) {
  state_->Multiply(device.stream(), RightGemm, groups, arrays);
}

std::unique_ptr<DeviceExchange> OpenPowerSgd(StreamDevice device, const PowerSgdScheme& scheme,
                                             std::span<const Unit> units, int workers) {
  return std::make_unique<PowerSgdDeviceExchange<StreamDevice, BlasProducts>>(
      device, BlasProducts(), scheme, units, workers);
}

}  // namespace legacy::cuda
