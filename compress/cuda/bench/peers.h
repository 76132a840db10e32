// Peers are the LibTorch operations on a GPU with the same result, as compressors in Python call
// them. They are defined in trainer/bench/bench_gpu_peers.cc, to keep LibTorch's headers there. All
// work is queued on the default stream.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace legacy::bench {

// A vector of a flat buffer, of which k elements are selected. LibTorch takes one after the other.
struct KeptPart {
  int64_t offset = 0;
  int64_t length = 0;
  int64_t k = 0;
};

// Computes torch.topk(x.abs(), k), unsorted, of values in device memory.
std::function<void()> TorchTopKOfMagnitudes(const float* values, std::vector<KeptPart> parts);

// Performs Top-K with error feedback as in GRACE (Xu et al., ICDCS'21): residual and gradient
// scaled and added; magnitudes, topk, gather; zeros, scatter, and the difference as the new
// residual.
std::function<void()> TorchTopKWithFeedback(const float* gradient, float* residual,
                                            std::vector<KeptPart> parts);

}  // namespace legacy::bench
