// Kernels that can be called by themselves, for measuring them (kernel_rates.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace legacy {

// Sizes of two units: the line through both times separates launch from elements. The small one
// exceeds the caches' first level, the large one is out of the caches of a core, as gradients of a
// model are when they are encoded. Powers of four.
struct KernelSizes {
  int64_t small = 1 << 10;
  int64_t large = 1 << 20;
};

// The density at which sparse kernels and schemes are measured.
inline constexpr double kMeasuredDensity = 0.01;

struct LoneKernel {
  std::string name;
  int64_t small, large;                                        // sizes
  std::function<int64_t(int64_t size)> elements;               // Work::elements of a call
  std::function<std::function<void()>(int64_t size)> prepare;  // sets one up
};

std::vector<LoneKernel> LoneKernels(const KernelSizes& sizes);

}  // namespace legacy
