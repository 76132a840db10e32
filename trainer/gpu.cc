// A GPU as an accelerator of LibTorch. This file is compiled where both LibTorch and this build
// have CUDA.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdlib>
#include <sstream>

#include "compress/cuda/exchange/exchange.h"
#include "trainer/accelerator.h"
#include "trainer/cuda/step_kernels_on.h"

namespace legacy {
namespace {

// Stops newer LibTorches from filling what they allocate, which costs a pass over the memory.
template <class Context>
void LeaveMemoryUnfilled(Context& context) {
  if constexpr (requires { context.setDeterministicFillUninitializedMemory(false); }) {
    context.setDeterministicFillUninitializedMemory(false);
  }
}

// Makes results equal from run to run. cuBLAS reads its variable when LibTorch makes the first
// handle. Algorithms without a deterministic form warn.
void MakeDeterministic() {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::Context& context = at::globalContext();
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
  context.setAllowTF32CuDNN(false);
  context.setAllowTF32CuBLAS(false);
  context.setDeterministicAlgorithms(true, /*warn_only=*/true);
  LeaveMemoryUnfilled(context);
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

class Gpu : public Accelerator {
 public:
  explicit Gpu(int index)
      : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false,
                                             static_cast<c10::DeviceIndex>(index))) {
    MakeDeterministic();
  }

  torch::Device device() const override { return {torch::kCUDA, stream_.device_index()}; }
  std::string Name() const override {
    return at::cuda::getDeviceProperties(stream_.device_index())->name;
  }
  void Use() override {
    c10::cuda::set_device(stream_.device_index());
    c10::cuda::setCurrentCUDAStream(stream_);
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
  c10::cuda::CUDAStream stream_;
  // Last recording. The next one shares its memory, because recordings run one after the other.
  std::shared_ptr<at::cuda::CUDAGraph> last_;
};

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
    capturing = false;
    graph->capture_end();
    last_ = graph;
    return [graph] { graph->replay(); };
  } catch (const std::exception& error) {
    *why = FirstLine(error.what());
  }
  if (capturing) {
    try {
      graph->capture_end();
    } catch (const std::exception&) {  // the same failure again
    }
  }
  cudaGetLastError();  // clears the error, which `why` has
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
