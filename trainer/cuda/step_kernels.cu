#include "compress/cuda/exchange/stream_operations.cuh"
#include "trainer/cuda/step_kernels_on.h"

namespace legacy {

std::unique_ptr<StepKernels> MakeStepKernels(std::span<const Unit> layers, cuda::Stream stream) {
  return std::make_unique<StepKernelsOn<cuda::StreamDevice>>(cuda::StreamDevice(stream), layers);
}

}  // namespace legacy
