// Opens the exchange of a scheme on any device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "compress/cuda/exchange/arc_exchange.h"
#include "compress/cuda/exchange/codec_exchange.h"
#include "compress/cuda/exchange/dynamiq_exchange.h"
#include "compress/cuda/exchange/omnireduce_exchange.h"
#include "compress/cuda/exchange/powersgd_exchange.h"
#include "compress/cuda/exchange/thc_exchange.h"
#include "compress/model_exchange.h"
#include "compress/schemes/dynamiq.h"
#include "compress/schemes/matrices/arc.h"
#include "compress/schemes/matrices/powersgd.h"
#include "compress/schemes/sparse/omnireduce.h"
#include "compress/schemes/thc.h"

namespace legacy::cuda {

// Returns null if `scheme` has no kernels; `why` then names what lacks them. The exchange may
// outlive the scheme.
template <class Device>
std::unique_ptr<DeviceExchange> OpenExchangeOn(Device device, const Scheme& scheme,
                                               std::span<const Unit> units, int workers,
                                               std::string* why) {
  if (scheme.Traits().residual_decay != 1) {
    *why = "option decay has no kernels";
    return nullptr;
  }
  if (const auto* codecs = dynamic_cast<const CodecScheme*>(&scheme)) {
    *why = LacksKernels(*codecs->codec(), codecs->options());
    if (!why->empty()) return nullptr;
    return std::make_unique<CodecDeviceExchange<Device>>(std::move(device), *codecs, units,
                                                         workers);
  }
  if (const auto* low_rank = dynamic_cast<const PowerSgdScheme*>(&scheme)) {
    return OpenPowerSgd(std::move(device), *low_rank, units, workers);
  }
  if (const auto* thc = dynamic_cast<const ThcScheme*>(&scheme)) {
    *why = EdenTable::LacksKernels(thc->settings().block);
    if (!why->empty()) return nullptr;
    return std::make_unique<ThcDeviceExchange<Device>>(std::move(device), *thc, units, workers);
  }
  if (const auto* arc = dynamic_cast<const ArcScheme*>(&scheme)) {
    return std::make_unique<ArcDeviceExchange<Device>>(std::move(device), *arc, units, workers);
  }
  if (const auto* levels = dynamic_cast<const DynamiqScheme*>(&scheme)) {
    *why = DynamiqDeviceExchange<Device>::LacksKernels(workers);
    if (!why->empty()) return nullptr;
    return std::make_unique<DynamiqDeviceExchange<Device>>(std::move(device), *levels, units,
                                                           workers);
  }
  if (const auto* blocks = dynamic_cast<const OmniReduceScheme*>(&scheme)) {
    *why = BlocksTable::LacksKernels(blocks->options().block);
    if (!why->empty()) return nullptr;
    return std::make_unique<OmniReduceDeviceExchange<Device>>(std::move(device), *blocks, units,
                                                              workers);
  }
  *why = "scheme " + std::string(scheme.Name()) + " has no kernels";
  return nullptr;
}

}  // namespace legacy::cuda
