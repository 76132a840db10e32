// Peers are what LibTorch does on a GPU for the same ends, as compressors in Python call it. They
// are defined in trainer/bench/bench_gpu_peers.cc, where LibTorch's headers stay. All is queued on
// the default stream.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace legacy::bench {

// A vector of a flat buffer, of which k elements are kept. LibTorch takes one after the other.
struct KeptPart {
  int64_t offset = 0;
  int64_t length = 0;
  int64_t k = 0;
};

// torch.topk(x.abs(), k), unsorted, of values of the device.
std::function<void()> TorchTopKOfMagnitudes(const float* values, std::vector<KeptPart> parts);

// The chain of operations of Top-K with error feedback in GRACE (Xu et al., ICDCS'21): residual and
// gradient scaled and added; magnitudes, topk, gather; zeros, scatter, and the difference as the
// new residual.
std::function<void()> TorchTopKWithFeedback(const float* gradient, float* residual,
                                            std::vector<KeptPart> parts);

}  // namespace legacy::bench
