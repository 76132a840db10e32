// A GPU as an accelerator of LibTorch. This file is compiled if both LibTorch and this build have
// CUDA.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include "compress/cuda/exchange/exchange.h"
#include "trainer/cuda/step_kernels_on.h"
#include "trainer/torch/accelerator.h"
#include "trainer/torch/gpu_arithmetic.h"

namespace legacy {
namespace {

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

class Gpu : public Accelerator {
 public:
  explicit Gpu(int index)
      : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false,
                                             static_cast<c10::DeviceIndex>(index))) {
    UseDeterministicFp32();
  }

  torch::Device device() const override { return {torch::kCUDA, stream_.device_index()}; }
  std::string Name() const override {
    return at::cuda::getDeviceProperties(stream_.device_index())->name;
  }
  void Use() override {
    c10::cuda::set_device(stream_.device_index());
    c10::cuda::setCurrentCUDAStream(stream_);
  }
  void AllowTf32(bool allow) override {
    at::globalContext().setAllowTF32CuDNN(allow);
    at::globalContext().setAllowTF32CuBLAS(allow);
  }
  std::unique_ptr<StepKernels> Kernels(std::span<const Unit> layers) override {
    return std::make_unique<StepKernelsOn<cuda::StreamDevice>>(cuda::StreamDevice(stream_.stream()),
                                                               layers);
  }
  std::unique_ptr<DeviceExchange> OpenExchange(const Scheme& scheme, std::span<const Unit> units,
                                               int workers, std::string* why) override {
    return cuda::OpenExchange(scheme, units, workers, stream_.stream(), why);
  }
  std::function<void()> Record(const std::function<void()>& work, std::string* why) override;
  std::string RecordName() const override { return "a CUDA graph"; }

 private:
  void EndFailedCapture(at::cuda::CUDAGraph& graph);

  c10::cuda::CUDAStream stream_;
  // Last recording. The next one shares its memory, because recordings run one after the other.
  std::shared_ptr<at::cuda::CUDAGraph> last_;
};

// LibTorch's allocator serves a capture from a pool of its own until the capture has ended without
// an error, which a failed capture does not.
void Gpu::EndFailedCapture(at::cuda::CUDAGraph& graph) {
  try {
    graph.capture_end();
    return;
  } catch (const std::exception&) {  // the same failure again
  }
  try {
    c10::cuda::CUDACachingAllocator::endAllocateToPool(stream_.device_index(), graph.pool());
  } catch (const std::exception&) {  // the allocator knows that the capture has ended
  }
}

std::function<void()> Gpu::Record(const std::function<void()>& work, std::string* why) {
  const auto graph = std::make_shared<at::cuda::CUDAGraph>();
  bool capturing = false;
  try {
    if (last_) {
      graph->capture_begin(last_->pool());
    } else {
      graph->capture_begin();
    }
    capturing = true;
    work();
    graph->capture_end();
    capturing = false;
    last_ = graph;
    return [graph] { graph->replay(); };
  } catch (const std::exception& error) {
    *why = FirstLine(error.what());
  }
  if (capturing) EndFailedCapture(*graph);
  cudaGetLastError();  // clears the error, which `why` holds
  return nullptr;
}

}  // namespace

std::shared_ptr<Accelerator> OpenGpu(std::string* why, int local_rank) {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    *why = std::string("CUDA finds no GPU: ") + cudaGetErrorString(status);
    return nullptr;
  }
  try {
    return std::make_shared<Gpu>(local_rank % devices);
  } catch (const std::exception& error) {
    *why = "LibTorch cannot use the GPU: " + FirstLine(error.what());
    return nullptr;
  }
}

}  // namespace legacy
