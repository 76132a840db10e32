// Draws of a stream one after the other, on a device.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "compress/cuda/device/block.h"

namespace legacy::cuda {

// Gives the draws of a new RandomStream in order.
class StreamReader {
 public:
  explicit LEGACY_DEVICE StreamReader(const StreamKey& key) : key_(key) {}
  // As RandomStream::Below.
  LEGACY_DEVICE uint32_t Below(uint32_t bound) {
    uint64_t product = static_cast<uint64_t>(Next()) * bound;
    if (static_cast<uint32_t>(product) < bound) {
      const uint32_t rejected = (0u - bound) % bound;
      while (static_cast<uint32_t>(product) < rejected) {
        product = static_cast<uint64_t>(Next()) * bound;
      }
    }
    return static_cast<uint32_t>(product >> 32);
  }

 private:
  LEGACY_DEVICE uint32_t Next() {
    const auto draws = StreamBlock(key_, number_ / 4);
    const auto i = static_cast<int>(number_++ % 4);
    return i == 0 ? draws[0] : i == 1 ? draws[1] : i == 2 ? draws[2] : draws[3];
  }

  StreamKey key_;
  uint64_t number_ = 0;
};

}  // namespace legacy::cuda
