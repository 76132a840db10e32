// The kernels that LibTorch, its BLAS and oneDNN compute with on the host.
#pragma once

#include <nlohmann/json.hpp>

#include "trainer/processor.h"

namespace legacy {

// Adds the libraries' choices in this process to the versions of a manifest: `cpu_capability`,
// `blas`, `onednn`, and the processor's name. Where LibTorch's version and the first three are
// equal, trainings repeat to the bit.
void DescribeHostKernels(nlohmann::json& versions);

// Makes the libraries choose now, in the environment of the setting (KernelEnvironment). Throws
// Error where they have chosen other kernels before.
void SettleHostKernels(Processor processor);

}  // namespace legacy
