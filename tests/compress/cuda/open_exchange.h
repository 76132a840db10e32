// Exchanges on the device under test. They use all kernels, which are therefore compiled in one
// place.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "compress/model_exchange.h"
#include "tests/compress/cuda/device_under_test.h"

namespace legacy::test {

// Calls cuda::OpenExchange() or, on the host, cuda::OpenExchangeOn().
std::unique_ptr<DeviceExchange> OpenExchange(Device device, const Scheme& scheme,
                                             std::span<const Unit> units, int workers,
                                             std::string* why);

}  // namespace legacy::test
