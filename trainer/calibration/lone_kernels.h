// Lone kernels are kernels that can be called, and so measured, by themselves (kernel_rates.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace legacy {

// KernelSizes are the sizes of two units: the line through both times separates launch from
// elements. The small unit exceeds the first cache level. The large one exceeds the caches of a
// core, as a model's gradients do when they are encoded. Both are powers of four.
struct KernelSizes {
  int64_t small = 1 << 10;
  int64_t large = 1 << 20;
};

// Density at which sparse kernels and schemes are measured.
inline constexpr double kMeasuredDensity = 0.01;

// A LoneKernel is a kernel with the sizes and calls of its measurement.
struct LoneKernel {
  std::string name;
  int64_t small, large;                                        // sizes at which it is measured
  std::function<int64_t(int64_t size)> elements;               // Work::elements of a call
  std::function<std::function<void()>(int64_t size)> prepare;  // sets up a call and returns it
};

// Returns all lone kernels.
std::vector<LoneKernel> LoneKernels(const KernelSizes& sizes);

}  // namespace legacy
