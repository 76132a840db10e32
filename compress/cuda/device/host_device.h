// A host device runs kernels on the host, one block after the other: the twin of StreamDevice
// (stream_device.h).
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "compress/cuda/device/block.h"
#include "compress/cuda/device/workspace.h"

namespace legacy::cuda {

class HostDevice {
 public:
  // `order` is the order in which threads and blocks run.
  explicit HostDevice(Order order = Order::kForward) : order_(order) {}

  template <class Kernel>
  void Launch(int64_t blocks, const typename Kernel::Args& args) {
    const auto shared = std::make_unique<typename Kernel::Shared>();
    for (int64_t i = 0; i < blocks; ++i) {
      HostBlock<Kernel> block(At(order_, i, blocks), blocks, order_, *shared);
      Kernel::Run(block, args);
    }
  }

  // Functions that DeviceArray (device_array.h) allocates and copies memory with.
  static void* Allocate(size_t bytes) { return ::operator new(bytes, kAlignment); }
  static void Free(void* memory) { ::operator delete(memory, kAlignment); }
  void Clear(void* memory, size_t bytes) { std::memset(memory, 0, bytes); }
  void Copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  void Upload(void* to, const void* from, size_t bytes) { Copy(to, from, bytes); }
  void Download(void* to, const void* from, size_t bytes) { Copy(to, from, bytes); }
  void Wait() {}

 private:
  static constexpr std::align_val_t kAlignment{Workspace::kAlignment};

  Order order_;
};

}  // namespace legacy::cuda
