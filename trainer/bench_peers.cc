#include "compress/bench_peers.h"

#include <benchmark/benchmark.h>
#include <torch/torch.h>

namespace legacy::bench {

void TorchTopK(std::span<const float> magnitudes, int64_t k) {
  at::set_num_threads(1);
  const torch::NoGradGuard no_gradient;
  const torch::Tensor flat = torch::from_blob(const_cast<float*>(magnitudes.data()),
                                              {static_cast<int64_t>(magnitudes.size())});
  const auto [values, indices] = flat.topk(k, 0, /*largest=*/true, /*sorted=*/false);
  benchmark::DoNotOptimize(values.data_ptr());
  benchmark::DoNotOptimize(indices.data_ptr());
}

void TorchRandomMask(int64_t n, int64_t k) {
  at::set_num_threads(1);
  const torch::NoGradGuard no_gradient;
  benchmark::DoNotOptimize((torch::randperm(n) < k).data_ptr());
}

void TorchSpectrum(std::span<const float> values, int64_t k) {
  at::set_num_threads(1);
  const torch::NoGradGuard no_gradient;
  const torch::Tensor flat =
      torch::from_blob(const_cast<float*>(values.data()), {static_cast<int64_t>(values.size())});
  const torch::Tensor spectrum = torch::fft::rfft(flat);
  const auto kept = std::get<1>(spectrum.abs().topk(k, 0, /*largest=*/true, /*sorted=*/false));
  benchmark::DoNotOptimize(spectrum.index_select(0, kept).data_ptr());
}

}  // namespace legacy::bench
