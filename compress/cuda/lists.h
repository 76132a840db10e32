// Positions and values selected from many units, on the device, with what the host knows of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "compress/cuda/device_array.h"
#include "compress/cuda/segments.h"

namespace legacy::cuda {

template <class Device>
struct Lists {
  static constexpr int64_t kAlignment = 4;  // of begins, for access by vectors

  // Of each unit; the copies on the device are `begins` and `counts`.
  std::vector<int64_t> begin;
  std::vector<uint32_t> count;
  DeviceArray<Device, int64_t> begins;
  DeviceArray<Device, uint32_t> counts;
  DeviceArray<Device, uint32_t> positions;
  DeviceArray<Device, float>
      values;  // as many for each position; those of a list begin where its positions do, times that

  int32_t size() const { return static_cast<int32_t>(count.size()); }
  // Behind the last entry.
  int64_t end() const { return count.empty() ? 0 : begin.back() + count.back(); }
  // Makes room for lists of these lengths, one after the other, with `each` values for a position. What was there is lost.
  void LayOut(Device& device, std::span<const uint32_t> lengths, int each = 1) {
    if (std::ranges::equal(count, lengths) && begins.size() > 0) return;
    count.assign(lengths.begin(), lengths.end());
    begin.clear();
    int64_t next = 0;
    for (const uint32_t length : lengths) {
      begin.push_back(next);
      next += (int64_t{length} + kAlignment - 1) / kAlignment * kAlignment;
    }
    begins.Upload(device, begin);
    counts.Upload(device, count);
    positions.Reserve(next);
    values.Reserve(next * each);
  }
  PackedLists view() const {
    return {begins.data(), counts.data(), positions.data(), values.data()};
  }
};

}  // namespace legacy::cuda
