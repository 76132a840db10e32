// An accelerator is a device that trainings compute on instead of the host. It holds LibTorch's
// tensors and runs our kernels on them, with one queue for the work of both.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "compress/model_exchange.h"
#include "trainer/cuda/step_kernels.h"
#include "trainer/device_request.h"

namespace legacy {

// An Accelerator is one such device: a GPU, or an emulated device in tests.
class Accelerator {
 public:
  virtual ~Accelerator() = default;

  virtual torch::Device device() const = 0;
  // The maker's name: "NVIDIA H100 80GB HBM3".
  virtual std::string Name() const = 0;

  // Sends the work of the calling thread to the device's queue from now on.
  virtual void Use() = 0;

  // Says whether matrix products may round their inputs to TF32, whose mantissa has 10 bits. They
  // do not unless it is called.
  virtual void AllowTf32(bool allow) = 0;

  // Returns the kernels of a training step for a model of these layers.
  virtual std::unique_ptr<StepKernels> Kernels(std::span<const Unit> layers) = 0;
  // Opens the exchanges of all units on the device. Returns null where the scheme has no kernels;
  // `why` then says what has none.
  virtual std::unique_ptr<DeviceExchange> OpenExchange(const Scheme& scheme,
                                                       std::span<const Unit> units, int workers,
                                                       std::string* why) = 0;

  // Records what `work` would queue, without doing it. Calling the result queues all of it at once,
  // on the memory that `work` named; everything that `work` refers to must outlive the result.
  // Where LibTorch cannot record, the result is empty and `why` says why.
  virtual std::function<void()> Record(const std::function<void()>& work, std::string* why) = 0;
  // The name of such a recording: "a CUDA graph".
  virtual std::string RecordName() const = 0;
};

// Opens the GPU of a process that has this number on its machine: the first GPU that CUDA shows for
// 0, the next one for 1, and so on, beginning again after the last. Where no GPU can be used,
// returns null, and `why` says what is missing.
std::shared_ptr<Accelerator> OpenGpu(std::string* why, int local_rank = 0);

// A DeviceChoice is the device that serves a request.
struct DeviceChoice {
  std::shared_ptr<Accelerator> accelerator;  // chosen device; null: the host
  std::string reason;                        // reason for auto's choice; empty for cpu and cuda
};

// Chooses the device of a process, as OpenGpu does. Throws Error for kCuda where no GPU can be
// used, with what is missing.
DeviceChoice ChooseDevice(DeviceRequest request, int local_rank = 0);

}  // namespace legacy
