// Opens the exchange of a scheme on a GPU.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "compress/cuda/device/stream_device.h"
#include "compress/model_exchange.h"

namespace legacy::cuda {

// Opens an exchange that runs in the order of `stream`. Returns null if `scheme` has no kernels;
// `why` then names what lacks them.
std::unique_ptr<DeviceExchange> OpenExchange(const Scheme& scheme, std::span<const Unit> units,
                                             int workers, Stream stream, std::string* why);

}  // namespace legacy::cuda
