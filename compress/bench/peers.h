// Peers are what LibTorch does for the same ends, as compressors in Python call it. They are
// defined in trainer/bench/bench_peers.cc, where LibTorch's headers stay, and use one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace legacy::bench {

// torch::topk(magnitudes, k), unsorted. Magnitudes, error feedback and the kept values are left to
// the caller, and cost LibTorch passes of their own.
void TorchTopK(std::span<const float> magnitudes, int64_t k);

// randperm(n) < k, from which Random-K's positions follow.
void TorchRandomMask(int64_t n, int64_t k);

// torch::fft::rfft(values) as one transform, torch::topk of the magnitudes, and the kept
// coefficients gathered.
void TorchSpectrum(std::span<const float> values, int64_t k);

// Returns what one worker computes in a training step of ResNet-20: forward and backward pass of
// `samples` images of 32 x 32 pixels, 10 classes. Each call of the function is one step.
std::function<void()> TorchResNet20Step(int64_t samples);

}  // namespace legacy::bench
