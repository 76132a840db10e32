#include <torch/torch.h>

#include <utility>

#include "compress/cuda/bench/peers.h"

namespace legacy::bench {
namespace {

// Returns `part` of the values in device memory, without a copy.
torch::Tensor View(const float* values, const KeptPart& part) {
  return torch::from_blob(const_cast<float*>(values) + part.offset, {part.length},
                          torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCUDA));
}

torch::Tensor LargestPositions(const torch::Tensor& magnitudes, int64_t k) {
  return std::get<1>(magnitudes.topk(k, 0, /*largest=*/true, /*sorted=*/false));
}

}  // namespace

std::function<void()> TorchTopKOfMagnitudes(const float* values, std::vector<KeptPart> parts) {
  return [values, parts = std::move(parts)] {
    const torch::NoGradGuard no_gradient;
    for (const KeptPart& part : parts) LargestPositions(View(values, part).abs(), part.k);
  };
}

std::function<void()> TorchTopKWithFeedback(const float* gradient, float* residual,
                                            std::vector<KeptPart> parts) {
  return [gradient, residual, parts = std::move(parts)] {
    const torch::NoGradGuard no_gradient;
    constexpr double kBeta = 1, kGamma = 1;  // factors of residual and gradient
    for (const KeptPart& part : parts) {
      torch::Tensor kept_back = View(residual, part);
      const torch::Tensor sum = kBeta * kept_back + kGamma * View(gradient, part);
      const torch::Tensor positions = LargestPositions(sum.abs(), part.k);
      const torch::Tensor values = sum.gather(0, positions);
      const torch::Tensor sent = torch::zeros_like(sum).scatter_(0, positions, values);
      torch::sub_out(kept_back, sum, sent);
    }
  };
}

}  // namespace legacy::bench
