// Runs kernels (block.h) on a GPU, in the order of a stream, as HostDevice (host_device.h) does on
// the host. Launches and Clear() can be captured in a CUDA graph; allocations, and copies from and
// to the host, cannot. This header needs no CUDA header: C++ sources call launches that a .cu file
// of kernels/ has compiled (stream_device.cuh).
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace legacy::cuda {

using Stream = CUstream_st*;  // the same type as cudaStream_t

// Throws Error about `what` if `status`, a cudaError_t, is not cudaSuccess.
void Check(int status, const char* what);

class StreamDevice {
 public:
  explicit StreamDevice(Stream stream) : stream_(stream) {}

  // Throws Error if the launch is refused. Launches nothing if `blocks` is 0.
  template <class Kernel>
  void Launch(int64_t blocks, const typename Kernel::Args& args);

  // Functions that DeviceArray (device_array.h) allocates and copies memory with. Copies run in the
  // order of the stream. The source of an upload may change at once; the target of a download is
  // valid after Wait().
  static void* Allocate(size_t bytes);
  static void Free(void* memory);
  void Clear(void* memory, size_t bytes);
  void Copy(void* to, const void* from, size_t bytes);
  void Upload(void* to, const void* from, size_t bytes) { Copy(to, from, bytes); }
  void Download(void* to, const void* from, size_t bytes) { Copy(to, from, bytes); }
  void Wait();
  Stream stream() const { return stream_; }

 private:
  Stream stream_;
};

}  // namespace legacy::cuda
