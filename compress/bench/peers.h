// Peers are the LibTorch operations with the same result, as compressors in Python call them. They
// are defined in trainer/bench/bench_peers.cc, to keep LibTorch's headers there, and use one
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace legacy::bench {

// Computes torch::topk(magnitudes, k), unsorted. Computing magnitudes, error feedback and gathering
// the selected values take further passes of LibTorch, which the caller omits.
void TorchTopK(std::span<const float> magnitudes, int64_t k);

// Computes randperm(n) < k, from which Random-K's positions follow.
void TorchRandomMask(int64_t n, int64_t k);

// Computes torch::fft::rfft(values) as one transform, torch::topk of the magnitudes, and gathers
// the selected coefficients.
void TorchSpectrum(std::span<const float> values, int64_t k);

// Returns what one worker computes in a training step of ResNet-20: forward and backward pass of
// `samples` images of 32 x 32 pixels, 10 classes. Each call of the function is one step.
std::function<void()> TorchResNet20Step(int64_t samples);

}  // namespace legacy::bench
