// Compares the charges of clipping and the optimizer with their kernels' work on a device that
// counts (tests/compress/cuda/counting_device.h).
#include <gtest/gtest.h>

#include "compress/kernel_costs.h"
#include "tests/compress/cuda/counting_device.h"
#include "tests/compress/test_data.h"
#include "trainer/cuda/step_kernels.h"
#include "trainer/cuda/step_kernels_on.h"

namespace legacy::step_work_test {
namespace {

using cuda::DeviceArray;
using test::CountingDevice;
using test::Counts;

void ExpectCharged(const char* kernel, const Counts& counted, int64_t numel) {
  EXPECT_EQ(counted.launches, CostOf(kernel).launches) << kernel;
  const double bytes = CostOf(kernel).bytes;
  EXPECT_NEAR(static_cast<double>(counted.bytes) / static_cast<double>(numel), bytes, 0.01 * bytes)
      << kernel;
}

TEST(StepKernels, ClippingAndTheOptimizerTakeWhatIsCharged) {
  const std::vector<Unit> layers = test::MakeUnits({500000, 300, 200000});
  const int64_t numel = layers.back().offset + layers.back().numel;
  CountingDevice device;
  StepKernelsOn<CountingDevice> kernels(device, layers);
  DeviceArray<CountingDevice, float> gradient(numel), weights(numel), velocity(numel);
  for (auto* const array : {&gradient, &weights, &velocity}) {
    array->Upload(device, test::Normals(numel, 1));
  }
  kernels.Clip(gradient.data(), 1);  // allocates memory
  device.Take();
  kernels.Clip(gradient.data(), 1);
  ExpectCharged("clip", device.Take(), numel);
  kernels.Update(MomentumKind::kHeavyBall, {.rate = 0.1f, .momentum = 0.9f},
                 {gradient.data(), weights.data(), velocity.data()});
  ExpectCharged("optimizer.sgd", device.Take(), numel);
  // An outer update without momentum reads and writes as much as a sum.
  kernels.Update(MomentumKind::kNone, {.rate = 1}, {gradient.data(), weights.data(), nullptr});
  ExpectCharged("accumulate", device.Take(), numel);
}

}  // namespace
}  // namespace legacy::step_work_test
