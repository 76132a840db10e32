#include "tests/compress/cuda/open_exchange.h"

#include "compress/cuda/exchange/exchange_on.h"
#if defined(__CUDACC__)
#include "compress/cuda/exchange/stream_operations.cuh"
#else
#include "compress/cuda/exchange/host_operations.h"
#endif

namespace legacy::test {

std::unique_ptr<DeviceExchange> OpenExchange(Device device, const Scheme& scheme,
                                             std::span<const Unit> units, int workers,
                                             std::string* why) {
  return cuda::OpenExchangeOn(device, scheme, units, workers, why);
}

}  // namespace legacy::test
