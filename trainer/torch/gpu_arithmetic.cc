#include "trainer/torch/gpu_arithmetic.h"

#include <ATen/Context.h>

#include <cstdlib>

namespace legacy {
namespace {

// Stops newer LibTorches from filling what they allocate, which costs a pass over the memory.
template <class Context>
void LeaveMemoryUnfilled(Context& context) {
  if constexpr (requires { context.setDeterministicFillUninitializedMemory(false); }) {
    context.setDeterministicFillUninitializedMemory(false);
  }
}

}  // namespace

void UseDeterministicFp32() {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::Context& context = at::globalContext();
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
  context.setAllowTF32CuDNN(false);
  context.setAllowTF32CuBLAS(false);
  context.setDeterministicAlgorithms(true, /*warn_only=*/true);
  LeaveMemoryUnfilled(context);
}

}  // namespace legacy
