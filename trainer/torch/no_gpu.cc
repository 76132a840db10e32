// This file stands in for gpu.cc in builds that cannot compute on a GPU; trainer/CMakeLists.txt
// says what they lack.
#include "trainer/torch/accelerator.h"

namespace legacy {

std::shared_ptr<Accelerator> OpenGpu(std::string* why, int) {
  *why = "this program was built without " LEGACY_GPU_LACKS;
  return nullptr;
}

}  // namespace legacy
