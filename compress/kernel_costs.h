// What kernels cost on a GPU: launches of one set, as compress/cuda makes them, and bytes moved for an element. Profiles
// of data sheets follow from this table (trainer/profile.h), docs/clock.md shows it, and tests/compress/cuda counts.
// Every kernel that a codec, scheme or policy charges (Work::kernel) has a row.
#pragma once

#include <span>
#include <string_view>

namespace legacy {

struct KernelCost {
  std::string_view name;
  int launches = 1;  // of a set; 0: part of another kernel's
  double bytes = 0;  // moved for an element
  std::string_view what;
};

// Ascending by name.
std::span<const KernelCost> KernelCosts();

}  // namespace legacy
