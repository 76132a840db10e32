// A device request says what --device asks for. This needs no LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/parse.h"

namespace legacy {

// A DeviceRequest is the device that trains and compresses; kAuto: the first GPU where one can be
// used, else the host.
enum class DeviceRequest : uint8_t { kCpu, kCuda, kAuto };
inline constexpr std::array<const char*, 3> kDeviceTexts = {"cpu", "cuda", "auto"};

// Returns the request of that name. Throws Error naming `key` on any other.
inline DeviceRequest ParseDeviceRequest(const std::string& text, const std::string& key) {
  return ParseChoice<DeviceRequest>(text, key, kDeviceTexts);
}

}  // namespace legacy
