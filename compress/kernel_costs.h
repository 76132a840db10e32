// The table of what kernels cost on a GPU: the launches of one set, as compress/cuda makes them,
// and the bytes moved per element. Methods without kernels are charged as existing kernels.
// Profiles of data sheets follow from this table (trainer/clock/profile.h), and docs/clock.md shows
// it. Tests compare it with counted launches and bytes (tests/compress/cuda/work_test.cc,
// tests/compress/processor_work_test.cc). Every kernel that a codec, scheme or policy charges
// (Work::kernel) has a row.
#pragma once

#include <span>
#include <string_view>

namespace legacy {

// A multiply-add of PowerSGD's products in fp32 takes as long as moving this many bytes: twelve of
// them hide behind the read of an element (A100: half of 19.5 TFLOP/s against 80 % of 2039 GB/s).
inline constexpr double kMultiplyAddBytes = 0.33;

// One row of the table.
struct KernelCost {
  std::string_view name;
  int launches = 1;  // launches of one set; 0: it is part of another kernel's launches
  double bytes = 0;  // bytes moved per element
  std::string_view what;
};

// Returns the table, ascending by name.
std::span<const KernelCost> KernelCosts();
// Returns the row of that name. Throws Error if there is none.
const KernelCost& CostOf(std::string_view kernel);

}  // namespace legacy
