// Units of a model that travel in one way, in a step of an exchange on a device: what
// codec_exchange.h is put together from.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "compress/codec.h"
#include "compress/cpu/stochastic.h"
#include "compress/cuda/device/device_array.h"
#include "compress/cuda/device/segments.h"
#include "compress/message.h"

namespace legacy::cuda {

struct GroupUnit {
  uint32_t id = 0;
  Extent extent;         // in the flat gradient
  int64_t count = 0;     // values that are sent, where they have a number
  double parameter = 0;  // of the step
};

// A worker in a step. Pointers are to flat arrays on the device.
struct SenderArrays {
  uint32_t worker = 0;
  int slot = 0;                     // place among those that take part
  const float* gradient = nullptr;  // as it came
  float* residual = nullptr;        // the worker's residual; null: there is none
  float* velocity = nullptr;        // to be cleared where something is sent, unless null
  bool added = false;               // `residual` has the gradient, too

  // Returns what is sent from, once `to_add()` is added to it. It is not to be written where there
  // is no residual.
  float* values() const { return residual ? residual : const_cast<float*>(gradient); }
  const float* to_add() const { return residual && !added ? gradient : nullptr; }
};

template <class Device>
class MessageGroup {
 public:
  virtual ~MessageGroup() = default;
  // Keys of the step; the worker is not yet one.
  virtual void Begin(const RandomKey& step) = 0;
  // Messages of the next worker, in the order of slots.
  virtual void Encode(const SenderArrays& sender) = 0;
  // All messages' sum, divided, to the units' places in `mean`.
  virtual void Decode(int slots, float divisor, float* mean) = 0;

  // These are of the decoded step; units are given by their position in the group.
  virtual int64_t Count(int unit, int slot) const = 0;  // values in the message
  virtual int64_t MessageBytes(int unit, int slot) const = 0;
  virtual Bytes CopyMessage(int unit, int slot) = 0;
};

inline RandomKey KeyOf(RandomKey step, uint32_t worker, uint32_t unit, Purpose purpose) {
  step.worker = worker;
  step.layer = unit;
  step.purpose = purpose;
  return step;
}

inline std::vector<uint32_t> IdsOf(const std::vector<GroupUnit>& units) {
  std::vector<uint32_t> ids;
  for (const GroupUnit& unit : units) ids.push_back(unit.id);
  return ids;
}

inline std::vector<uint32_t> CountsOf(const std::vector<GroupUnit>& units) {
  std::vector<uint32_t> counts;
  for (const GroupUnit& unit : units) counts.push_back(static_cast<uint32_t>(unit.count));
  return counts;
}

inline std::vector<Extent> ExtentsOf(const std::vector<GroupUnit>& units) {
  std::vector<Extent> extents;
  for (const GroupUnit& unit : units) extents.push_back(unit.extent);
  return extents;
}

inline SegmentTable SegmentsOf(const std::vector<GroupUnit>& units) {
  return {ExtentsOf(units), kTile};
}

// Per-unit random keys, or what is drawn from by them, in device memory.
template <class Device, class Key>
class UnitKeys {
 public:
  explicit UnitKeys(const std::vector<GroupUnit>& units) : ids_(IdsOf(units)) {}
  const Key* Upload(Device& device, const RandomKey& step, uint32_t worker, Purpose purpose) {
    std::vector<Key> keys;
    for (const uint32_t id : ids_) keys.push_back(Made(KeyOf(step, worker, id, purpose)));
    keys_.Upload(device, keys);
    return keys_.data();
  }

 private:
  static Key Made(const RandomKey& key) {
    if constexpr (std::is_same_v<Key, RandomKey>) {
      return key;
    } else {
      return cpu::MakeDrawSource(key);
    }
  }

  std::vector<uint32_t> ids_;
  DeviceArray<Device, Key> keys_;
};
// The draws that quantisers round by.
template <class Device>
using UnitDraws = UnitKeys<Device, cpu::DrawSource>;

}  // namespace legacy::cuda
