// The profile of a GPU is made from what legacy-bench-gpu measured on it (docs/gpu.md).
#pragma once

#include <string>

#include "trainer/clock/profile.h"

namespace legacy {

// Returns the profile. `json` is the output of legacy-bench-gpu, and `where` the name of its file,
// for messages. A kernel that was measured at two sizes or more costs the line through the smallest
// and the largest, measured on one vector of student-t values, of which sparsifiers keep 1 %. All
// else is as in `base`. The source says so, and whether `operations` of the base were measured on
// that machine (operations.h). Throws Error where the text is not such JSON, has no kernel with two
// sizes, or has one that `base` does not know.
Profile GpuProfile(const std::string& json, const std::string& where, const Profile& base,
                   bool operations, const std::string& name);

}  // namespace legacy
