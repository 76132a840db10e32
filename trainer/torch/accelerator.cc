#include "trainer/torch/accelerator.h"

#include "base/error.h"

namespace legacy {

DeviceChoice ChooseDevice(DeviceRequest request, int local_rank) {
  if (request == DeviceRequest::kCpu) return {};
  std::string why;
  DeviceChoice choice = {OpenGpu(&why, local_rank), ""};
  if (request == DeviceRequest::kAuto) {
    choice.reason = choice.accelerator ? "a GPU can be used" : why;
  } else if (!choice.accelerator) {
    throw Error("device", "cuda", "cpu, or auto: " + why);
  }
  return choice;
}

}  // namespace legacy
