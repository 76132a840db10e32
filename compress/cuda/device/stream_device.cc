#include "compress/cuda/device/stream_device.h"

#include <cuda_runtime_api.h>

#include <string>

#include "base/error.h"

namespace legacy::cuda {

void Check(int status, const char* what) {
  if (status == cudaSuccess) return;
  throw Error(std::string("CUDA, ") + what + ": " +
              cudaGetErrorString(static_cast<cudaError_t>(status)));
}

void* StreamDevice::Allocate(size_t bytes) {
  void* memory = nullptr;
  Check(cudaMalloc(&memory, bytes), "memory");
  return memory;
}

void StreamDevice::Free(void* memory) { cudaFree(memory); }

void StreamDevice::Clear(void* memory, size_t bytes) {
  Check(cudaMemsetAsync(memory, 0, bytes, stream_), "memory");
}

void StreamDevice::Copy(void* to, const void* from, size_t bytes) {
  Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copy");
}

void StreamDevice::Wait() { Check(cudaStreamSynchronize(stream_), "kernels"); }

}  // namespace legacy::cuda
