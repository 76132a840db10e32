#include "trainer/accelerator.h"

#include "base/error.h"

namespace legacy {

DeviceChoice ChooseDevice(const std::string& device) {
  if (device == "cpu") return {};
  if (device != "cuda" && device != "auto") throw Error("device", device, "cpu, cuda, auto");
  std::string why;
  DeviceChoice choice = {OpenGpu(&why), ""};
  if (device == "auto") {
    choice.reason = choice.accelerator ? "a GPU can be used" : why;
  } else if (!choice.accelerator) {
    throw Error("device", device, "cpu, or auto: " + why);
  }
  return choice;
}

}  // namespace legacy
