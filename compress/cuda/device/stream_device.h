// Runs kernels (block.h) on a GPU, in the order of a stream: the twin of HostDevice
// (host_device.h). Launches and Clear() can be captured in a CUDA graph; memory, and copies from
// and to the host cannot. No header of CUDA is needed: C++ sources call launches that a .cu of
// kernels/ has compiled (stream_device.cuh).
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace legacy::cuda {

using Stream = CUstream_st*;  // cudaStream_t

// Throws Error, about `what`, where `status`, a cudaError_t, is not cudaSuccess.
void Check(int status, const char* what);

class StreamDevice {
 public:
  explicit StreamDevice(Stream stream) : stream_(stream) {}

  // Throws Error where the launch is refused. Nothing is launched for no blocks.
  template <class Kernel>
  void Launch(int64_t blocks, const typename Kernel::Args& args);

  // Memory: DeviceArray (device_array.h). Copies are in the order of the stream: what is uploaded
  // may change at once, what is downloaded is there after Wait().
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
