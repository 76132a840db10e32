#include "tests/compress/cuda/open_exchange.h"

#if defined(__CUDACC__)
#include "compress/cuda/exchange/exchange.h"
#else
#include "compress/cuda/exchange/exchange_on.h"
#endif

namespace legacy::test {

std::unique_ptr<DeviceExchange> OpenExchange(Device device, const Scheme& scheme,
                                             std::span<const Unit> units, int workers,
                                             std::string* why) {
#if defined(__CUDACC__)
  return cuda::OpenExchange(scheme, units, workers, device.stream(), why);
#else
  return cuda::OpenExchangeOn(device, scheme, units, workers, why);
#endif
}

}  // namespace legacy::test
