#include "compress/cuda/exchange/exchange.h"

#include "compress/cuda/exchange/exchange_on.h"
#include "compress/cuda/exchange/powersgd.h"

namespace legacy::cuda {

std::unique_ptr<DeviceExchange> OpenExchange(const Scheme& scheme, std::span<const Unit> units,
                                             int workers, Stream stream, std::string* why) {
  return OpenExchangeOn(StreamDevice(stream), scheme, units, workers, why);
}

}  // namespace legacy::cuda
