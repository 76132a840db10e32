#include "trainer/torch/calibration/operations.h"

#include <torch/cuda.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/error.h"
#include "trainer/torch/gpu_arithmetic.h"

namespace legacy {

void MeasureOperations(const Stopwatch& seconds, bool gpu, Profile& profile) {
  const torch::NoGradGuard no_grad;
  const auto ones = [&](torch::IntArrayRef shape) {
    return torch::ones(shape, torch::TensorOptions(gpu ? torch::kCUDA : torch::kCPU));
  };
  const int64_t batch = gpu ? 256 : 32;
  const torch::Tensor large = ones({batch, 32, 32, 32});
  const double bytes = 4.0 * static_cast<double>(large.numel());
  torch::Tensor out = torch::empty_like(large);
  const double relu = seconds([&] { torch::relu_out(out, large); });
  const double bandwidth = RoundedFigure(2 * bytes / relu);
  const double add = seconds([&] { torch::add_out(out, large, large); });
  const double simple_flops = RoundedFigure(static_cast<double>(large.numel()) / add);

  const torch::Tensor kernel = ones({32, 32, 3, 3});
  const double conv =
      seconds([&] { torch::conv2d(large, kernel, {}, /*stride=*/1, /*padding=*/1); });
  const double conv_flops = 2.0 * 9 * 32 * static_cast<double>(large.numel());

  const torch::Tensor rows = ones({batch, 1024});
  const torch::Tensor matrix = ones({1024, 1024});
  const double linear = seconds([&] { torch::mm(rows, matrix); });
  const double linear_flops = 2.0 * 1024 * 1024 * static_cast<double>(batch);

  const torch::Tensor scale = ones({32});
  const double norm =
      seconds([&] { torch::batch_norm(large, scale, scale, {}, {}, true, 0.1, 1e-5, false); });
  const double pool = seconds([&] { torch::max_pool2d(large, 2); });

  profile.operations["conv"] = {RoundedFigure(conv_flops / conv), bandwidth};
  profile.operations["linear"] = {RoundedFigure(linear_flops / linear), bandwidth};
  profile.operations["elementwise"] = {simple_flops, bandwidth};
  profile.operations["batchnorm"] = {simple_flops, RoundedFigure(2 * bytes / norm)};
  profile.operations["pool"] = {simple_flops, RoundedFigure(1.25 * bytes / pool)};

  const torch::Tensor tiny = ones({1});
  torch::Tensor tiny_out = torch::empty_like(tiny);
  profile.launch_seconds = RoundedFigure(seconds([&] { torch::relu_out(tiny_out, tiny); }));
}

void MeasureGpuOperations(int runs, Profile& profile) {
  if (!torch::cuda::is_available()) {
    throw Error("operations on the GPU: this program's LibTorch has no GPU that it can use");
  }
  UseDeterministicFp32();
  constexpr int kCalls = 100;
  MeasureOperations(
      [&](const std::function<void()>& work) {
        std::vector<double> times;
        for (int run = -1; run < runs; ++run) {  // the first run does not count
          const auto begin = std::chrono::steady_clock::now();
          for (int call = 0; call < kCalls; ++call) work();
          torch::cuda::synchronize();
          const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
          if (run >= 0) times.push_back(time.count() / kCalls);
        }
        std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
        return times[runs / 2];
      },
      /*gpu=*/true, profile);
}

}  // namespace legacy
