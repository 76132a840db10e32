// StepKernels for any device of compress/cuda: a GPU's stream, or the host, on which tests run the
// same code.
#pragma once

#include <span>
#include <vector>

#include "compress/cuda/device/device_array.h"
#include "compress/cuda/exchange/operations.h"
#include "compress/unit.h"
#include "trainer/cuda/sgd_kernels.h"

namespace legacy {

// A StepKernelsOn launches the kernels of sgd_kernels.h and compress/cuda.
template <class Device>
class StepKernelsOn : public StepKernels {
 public:
  // `layers` follow each other without gaps.
  StepKernelsOn(Device device, std::span<const Unit> layers)
      : on_(device), numel_(layers.back().offset + layers.back().numel), square_(1), factor_(1) {
    std::vector<cuda::Extent> extents;
    for (const Unit& layer : layers) extents.push_back({layer.offset, layer.numel});
    layers_.Set(on_.device(), {extents, cuda::kTile});
    all_.Set(on_.device(), {std::vector<cuda::Extent>{{0, numel_}}, cuda::kTile});
  }

  void FindLargest(const float* gradient, uint32_t* largest, uint32_t* first) override {
    on_.FindLargest(layers_, gradient, largest, first);
  }
  void Clip(float* gradient, double limit) override {
    on_.SquaredNorms(all_, gradient, square_.data());
    on_.ClipFactors(square_.data(), factor_.data(), 1, limit);
    cuda::LaunchMap(on_.device(), cuda::ScaleByRule{factor_.data()}, gradient, gradient, numel_);
  }
  void Update(MomentumKind kind, const SgdRates& rates, const SgdArrays& arrays) override {
    cuda::LaunchSgdStep(on_.device(), kind, rates, arrays, numel_);
  }

 private:
  cuda::Operations<Device> on_;
  int64_t numel_;
  cuda::DeviceSegments<Device> layers_;
  cuda::DeviceSegments<Device> all_;  // all layers as one segment
  cuda::DeviceArray<Device, double> square_;
  cuda::DeviceArray<Device, float> factor_;
};

}  // namespace legacy
