// Runs a step of an exchange on a device. The CPU's counterpart is in test_data.h.
#pragma once

#include <span>
#include <vector>

#include "compress/model_exchange.h"
#include "tests/compress/cuda/device_under_test.h"

namespace legacy::test {

// All workers use the same memory for their gradients. Returns the mean.
inline std::vector<float> RunStep(DeviceExchange& exchange, const ModelStep& step,
                                  const std::vector<std::vector<float>>& gradients) {
  const auto size = static_cast<int64_t>(gradients[0].size());
  const Buffer<float> gradient(size), mean(size);
  exchange.Begin(step);
  for (const int w : step.info.ActiveWorkers(static_cast<int>(gradients.size()))) {
    Copy(gradient.data(), gradients[w].data(), size * sizeof(float));
    exchange.Encode(w, gradient.data());
  }
  exchange.Finish(mean.data());
  return mean.Get();
}

}  // namespace legacy::test
