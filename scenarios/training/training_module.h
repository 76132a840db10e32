// The training module is the shared object that needs LibTorch. It is loaded when the first
// training begins.
#pragma once

#include "trainer/processor.h"

namespace legacy {

// Returns a function of the module, by its C name. The first call chooses the kernels of the
// process. Throws Error where the module cannot be loaded, or was loaded with another setting.
void* TrainingFunction(const char* name, Processor processor);

}  // namespace legacy
