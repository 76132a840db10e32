// The GPU for legacy-bench-gpu: memory, inputs, the yardstick, and timing. Functions throw Error if
// CUDA refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compress/cuda/device/stream_device.h"

namespace legacy::bench {

struct DeviceInfo {
  std::string name;
  std::string driver;  // version; empty if the driver's library does not report one
  std::string cuda;    // version of the runtime
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
  int64_t cache_bytes = 0;  // bytes of the last-level cache
};
// Returns the current device. Throws Error if there is none.
DeviceInfo FindDevice();

// Device memory that is freed together.
class Arena {
 public:
  // Allocates n uninitialised elements.
  template <class T>
  T* New(int64_t n) {
    return static_cast<T*>(Allocate(static_cast<size_t>(n) * sizeof(T)));
  }
  template <class T>
  T* NewCopy(const std::vector<T>& values) {
    T* const copy = New<T>(static_cast<int64_t>(values.size()));
    Upload(values.data(), copy, values.size() * sizeof(T));
    return copy;
  }
  int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  void* Allocate(size_t bytes);
  static void Upload(const void* from, void* to, size_t bytes);

  std::vector<std::unique_ptr<void, Free>> pieces_;
  int64_t bytes_ = 0;
};

// Waits for earlier work of the default stream.
void DownloadBytes(const void* from, void* to, size_t bytes);
template <class T>
std::vector<T> Download(const T* from, int64_t n) {
  std::vector<T> values(static_cast<size_t>(n));
  DownloadBytes(from, values.data(), values.size() * sizeof(T));
  return values;
}

// Returns the distributions that values are drawn from: "student-t" (4 degrees of freedom), "zeros"
// (nine of ten are exactly zero, the others student-t), "constant".
const std::vector<std::string>& InputKinds();
// Fills `values` on the device. Each value depends on (kind, seed, position) alone.
void FillInput(const std::string& kind, uint32_t seed, float* values, int64_t n);

// The following functions queue work on the default stream; only Seconds() waits.
void CopyBytes(const void* from, void* to, int64_t bytes);
// The yardstick: copies n floats with the same 16-byte accesses as the kernels.
void CopyFloats(const float* from, float* to, int64_t n, cuda::Stream stream = nullptr);
// Evicts the cache's contents, and leaves nothing to be written back.
void ReadFloats(const float* from, int64_t n, float* sink);

// Returns the device seconds from the beginning to the end of `work`, measured by events around it.
// `before` is queued first and not timed; if it takes longer than the host needs to queue `work`,
// the time includes launches only as far as they delay the device.
double Seconds(const std::function<void()>& before, const std::function<void()>& work);

// Captures work(device) in a CUDA graph; each call of the result replays it on the default stream.
std::function<void()> Capture(const std::function<void(cuda::StreamDevice)>& work);

}  // namespace legacy::bench
