// A group of units of a model whose messages have the same form, in a step of an exchange on a
// device. codec_exchange.h composes exchanges of groups.
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
  Extent extent;         // elements in the flat gradient
  int64_t count = 0;     // number of values to send, if it is fixed
  double parameter = 0;  // parameter of the step
};

// An encoding worker's arrays in a step. Pointers are to flat arrays in device memory.
struct SenderArrays {
  uint32_t worker = 0;
  int slot = 0;                     // position among the active workers
  const float* gradient = nullptr;  // the gradient as computed
  float* residual = nullptr;        // the worker's residual, or null
  float* velocity = nullptr;        // velocity to clear at positions that are sent, or null
  bool added = false;               // the residual includes the gradient already

  // Returns the values that are sent once `to_add()` is added to them. They must not be written if
  // there is no residual.
  float* values() const { return residual ? residual : const_cast<float*>(gradient); }
  const float* to_add() const { return residual && !added ? gradient : nullptr; }
};

template <class Device>
class MessageGroup {
 public:
  virtual ~MessageGroup() = default;
  // Starts a step with its random key, in which the worker is not set yet.
  virtual void Begin(const RandomKey& step) = 0;
  // Encodes the messages of the next worker, in the order of slots.
  virtual void Encode(const SenderArrays& sender) = 0;
  // Writes the sum of all messages, divided by `divisor`, to the units' places in `mean`.
  virtual void Decode(int slots, float divisor, float* mean) = 0;

  // These describe the decoded step; units are given by their position in the group.
  virtual int64_t Count(int unit, int slot) const = 0;  // number of values in the message
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

// Per-unit random keys, or streams or draw sources made from them, in device memory.
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
    } else if constexpr (std::is_same_v<Key, StreamKey>) {
      return StreamKeyOf(key);
    } else {
      return cpu::MakeDrawSource(key);
    }
  }

  std::vector<uint32_t> ids_;
  DeviceArray<Device, Key> keys_;
};
// Sources of the draws for stochastic rounding.
template <class Device>
using UnitDraws = UnitKeys<Device, cpu::DrawSource>;

}  // namespace legacy::cuda
