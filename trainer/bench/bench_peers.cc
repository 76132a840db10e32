#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "compress/bench/peers.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/one_thread.h"

namespace legacy::bench {

void TorchTopK(std::span<const float> magnitudes, int64_t k) {
  UseOneThread();
  const torch::NoGradGuard no_gradient;
  const torch::Tensor flat = torch::from_blob(const_cast<float*>(magnitudes.data()),
                                              {static_cast<int64_t>(magnitudes.size())});
  const auto [values, indices] = flat.topk(k, 0, /*largest=*/true, /*sorted=*/false);
  benchmark::DoNotOptimize(values.data_ptr());
  benchmark::DoNotOptimize(indices.data_ptr());
}

void TorchRandomMask(int64_t n, int64_t k) {
  UseOneThread();
  const torch::NoGradGuard no_gradient;
  benchmark::DoNotOptimize((torch::randperm(n) < k).data_ptr());
}

void TorchSpectrum(std::span<const float> values, int64_t k) {
  UseOneThread();
  const torch::NoGradGuard no_gradient;
  const torch::Tensor flat =
      torch::from_blob(const_cast<float*>(values.data()), {static_cast<int64_t>(values.size())});
  const torch::Tensor spectrum = torch::fft::rfft(flat);
  const auto kept = std::get<1>(spectrum.abs().topk(k, 0, /*largest=*/true, /*sorted=*/false));
  benchmark::DoNotOptimize(spectrum.index_select(0, kept).data_ptr());
}

std::function<void()> TorchResNet20Step(int64_t samples) {
  constexpr int kChannels = 3, kSide = 32, kClasses = 10;
  UseOneThread();
  const auto model = MakeModel({"resnet20", kChannels, kSide, kSide, kClasses, 1});
  const torch::Tensor images = torch::randn({samples, kChannels, kSide, kSide});
  const torch::Tensor labels = torch::randint(kClasses, {samples}, torch::kLong);
  return [model, images, labels] {
    model->zero_grad();
    torch::cross_entropy_loss(model->Forward(images), labels).backward();
  };
}

}  // namespace legacy::bench
