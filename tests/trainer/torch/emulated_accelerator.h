// An accelerator that is the host: it uses LibTorch's tensors there, runs our kernels block by
// block, and repeats recorded work. All code of a training on a GPU thus runs, and is tested,
// without a GPU.
#pragma once

#include <memory>
#include <string>

#include "compress/cuda/device/host_device.h"
#include "tests/compress/cuda/open_exchange.h"
#include "trainer/cuda/step_kernels_on.h"
#include "trainer/torch/accelerator.h"

namespace legacy::test {

class EmulatedAccelerator : public Accelerator {
 public:
  torch::Device device() const override { return torch::kCPU; }
  std::string Name() const override { return "emulated"; }
  void Use() override { ++uses; }
  void AllowTf32(bool allow) override { tf32 = allow; }
  std::unique_ptr<StepKernels> Kernels(std::span<const Unit> layers) override {
    return std::make_unique<StepKernelsOn<cuda::HostDevice>>(
        cuda::HostDevice(cuda::Order::kScattered), layers);
  }
  std::unique_ptr<DeviceExchange> OpenExchange(const Scheme& scheme, std::span<const Unit> units,
                                               int workers, std::string* why) override {
    return test::OpenExchange(cuda::HostDevice(cuda::Order::kBackward), scheme, units, workers,
                              why);
  }
  std::function<void()> Record(const std::function<void()>& work, std::string* why) override {
    *why = "not today";
    if (!records) return nullptr;
    ++recordings;
    return work;
  }
  std::string RecordName() const override { return "a recording"; }

  bool records = true;
  bool tf32 = false;
  int recordings = 0;
  int uses = 0;
};

}  // namespace legacy::test
