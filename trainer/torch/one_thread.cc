#include "trainer/torch/one_thread.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace legacy {

void UseOneThread() {
  at::set_num_threads(1);
  // LibTorch does not pass its thread count on to OpenBLAS, and may be linked against another BLAS.
  using SetThreads = void (*)(int);
  if (void* symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<SetThreads>(symbol)(1);
  }
}

}  // namespace legacy
