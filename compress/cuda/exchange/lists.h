// Positions and values selected from many units, in device memory, with the lists' places on the
// host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "compress/cuda/device/device_array.h"
#include "compress/cuda/device/segments.h"

namespace legacy::cuda {

// Alignment of begins, which allows access by vectors.
inline constexpr int64_t kListAlignment = 4;

// Returns the begins of lists that follow each other, and the end of the last.
inline std::vector<int64_t> ListBegins(std::span<const uint32_t> lengths) {
  std::vector<int64_t> begins = {0};
  for (const uint32_t length : lengths) {
    begins.push_back(begins.back() + RoundedUp(int64_t{length}, kListAlignment));
  }
  return begins;
}

// Returns such lists as segments.
inline SegmentTable ListSegments(std::span<const uint32_t> lengths) {
  const std::vector<int64_t> begins = ListBegins(lengths);
  std::vector<Extent> extents;
  for (size_t i = 0; i < lengths.size(); ++i) extents.push_back({begins[i], lengths[i]});
  return {extents, kTile};
}

template <class Device>
struct Lists {
  // Begins and counts of each unit's list; `begins` and `counts` are the copies on the device.
  std::vector<int64_t> begin;
  std::vector<uint32_t> count;
  DeviceArray<Device, int64_t> begins;
  DeviceArray<Device, uint32_t> counts;
  DeviceArray<Device, uint32_t> positions;
  // Each position has the same number of values, `each`. A list's values begin at `each` times the
  // begin of its positions.
  DeviceArray<Device, float> values;

  int32_t size() const { return static_cast<int32_t>(count.size()); }
  // Returns the end of the last list.
  int64_t end() const { return count.empty() ? 0 : begin.back() + count.back(); }
  // Makes room for lists of these lengths, one after the other, with `each` values per position.
  // The previous contents are lost if the layout changes.
  void LayOut(Device& device, std::span<const uint32_t> lengths, int each = 1) {
    if (std::ranges::equal(count, lengths) && begins.size() > 0) return;
    count.assign(lengths.begin(), lengths.end());
    begin = ListBegins(lengths);
    const int64_t room = begin.back();
    begin.pop_back();
    begins.Upload(device, begin);
    counts.Upload(device, count);
    positions.Reserve(room);
    values.Reserve(room * each);
  }
  PackedLists view() const {
    return {begins.data(), counts.data(), positions.data(), values.data()};
  }
};

}  // namespace legacy::cuda
