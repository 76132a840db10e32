// Runs kernels on the host, one block after the other: the twin of StreamDevice (stream_device.cuh).
#pragma once

#include <memory>

#include "compress/cuda/block.h"

namespace legacy::cuda {

class HostDevice {
 public:
  // Of threads and of blocks.
  explicit HostDevice(Order order = Order::kForward) : order_(order) {}

  template <class Kernel>
  void Launch(int64_t blocks, const typename Kernel::Args& args) {
    const auto shared = std::make_unique<typename Kernel::Shared>();
    for (int64_t i = 0; i < blocks; ++i) {
      HostBlock<Kernel> block(At(order_, i, blocks), blocks, order_, *shared);
      Kernel::Run(block, args);
    }
  }

 private:
  Order order_;
};

}  // namespace legacy::cuda
