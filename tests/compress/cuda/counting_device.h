// A device on the host that counts what kernels launch and move (counted_memory.h).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "compress/cuda/device/host_device.h"
#include "tests/compress/counted_memory.h"

namespace legacy::test {

struct Counts {
  int64_t launches = 0;
  int64_t bytes = 0;
  int64_t multiply_adds = 0;  // of PowerSGD's products
};

class CountingDevice : public cuda::HostDevice {
 public:
  template <class Kernel>
  void Launch(int64_t blocks, const typename Kernel::Args& args) {
    CountLaunch([&] { cuda::HostDevice::Launch<Kernel>(blocks, args); });
  }
  template <class Call>
  void CountLaunch(Call call) const {
    CountedMemory::BeginLaunch();
    call();
    ++counts_->launches;
    counts_->bytes += CountedMemory::Take();
  }
  void CountMultiplyAdds(int64_t count) const { counts_->multiply_adds += count; }
  Counts Take() const { return std::exchange(*counts_, {}); }

  static void* Allocate(size_t bytes) { return CountedMemory::Allocate(bytes); }
  static void Free(void* memory) { CountedMemory::Free(memory); }
  // Counts traffic, but no launch.
  void Clear(void* memory, size_t bytes) {
    cuda::HostDevice::Clear(memory, bytes);
    counts_->bytes += static_cast<int64_t>(bytes);
  }
  void Copy(void* to, const void* from, size_t bytes) {
    cuda::HostDevice::Copy(to, from, bytes);
    counts_->bytes += 2 * static_cast<int64_t>(bytes);
  }

 private:
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();  // shared by all copies
};

}  // namespace legacy::test
