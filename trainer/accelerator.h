// A device that trainings compute on instead of the host: where LibTorch's tensors are, our kernels
// on them, and one queue for the work of both.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "compress/device_exchange.h"
#include "trainer/cuda/step_kernels.h"

namespace legacy {

class Accelerator {
 public:
  virtual ~Accelerator() = default;

  virtual torch::Device device() const = 0;
  virtual std::string Name() const = 0;  // the maker's: "NVIDIA H100 80GB HBM3"

  // The work of the calling thread goes to the device's queue from now on.
  virtual void Use() = 0;

  virtual std::unique_ptr<StepKernels> Kernels(std::span<const Unit> layers) = 0;
  // Null where the scheme has no kernels; `why` then says what has none.
  virtual std::unique_ptr<DeviceExchange> OpenExchange(const Scheme& scheme,
                                                       std::span<const Unit> units, int workers,
                                                       std::string* why) = 0;

  // Takes down what `work` would queue, without doing it; calling the result queues all of it at
  // once, on the memory that `work` named. What `work` refers to outlives the result. Empty where
  // LibTorch cannot; `why` then says why.
  virtual std::function<void()> Record(const std::function<void()>& work, std::string* why) = 0;
  virtual std::string RecordName() const = 0;  // "a CUDA graph"
};

// The first GPU. Null where there is none to be used; `why` then says what is missing.
std::shared_ptr<Accelerator> OpenGpu(std::string* why);

// What --device=cpu|cuda|auto stands for.
struct DeviceChoice {
  std::shared_ptr<Accelerator> accelerator;  // null: the host
  std::string reason;                        // of auto; "": it was asked for
};

// Throws Error on other names, and for cuda where there is no GPU to be used, with what is missing.
DeviceChoice ChooseDevice(const std::string& device);

}  // namespace legacy
