// The training module is the shared object that needs LibTorch. It is loaded when the first
// training begins.
#pragma once

namespace legacy {

// Returns a function of the module, by its C name. Throws Error where the module cannot be loaded.
void* TrainingFunction(const char* name);

}  // namespace legacy
