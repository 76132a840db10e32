// NCCL as the carrier of messages between processes that have a GPU each. This needs CUDA's runtime
// and NCCL, and no LibTorch. It was tested over fakes of both, and has never run on a GPU.
#pragma once

#include <memory>
#include <string>

#include "trainer/processes/carrier.h"
#include "trainer/processes/process_group.h"

namespace legacy {

// Connects the GPUs of all processes. All call it together, each with the number that CUDA gives
// its GPU; -1: it has none. Returns null in all of them where NCCL cannot carry; `why` then says
// why. `processes` outlives the result. Throws Error where NCCL fails.
std::unique_ptr<Carrier> OpenNccl(ProcessGroup& processes, int gpu, std::string* why);

}  // namespace legacy
