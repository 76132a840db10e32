// Kernels of compress/cuda on the host: in every order of threads and blocks the same has to come out.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "compress/cuda/host_device.h"
#include "compress/cuda/segments.h"

namespace legacy::test {

inline constexpr cuda::Order kOrders[] = {cuda::Order::kForward, cuda::Order::kBackward,
                                          cuda::Order::kScattered};

// run(device) for each order.
template <class Run>
void InEveryOrder(Run run) {
  for (const cuda::Order order : kOrders) {
    SCOPED_TRACE("order " + std::to_string(static_cast<int>(order)));
    run(cuda::HostDevice(order));
  }
}

// Segments of these lengths, one after the other with a gap between, and their tiles.
class HostSegments {
 public:
  static constexpr int64_t kGap = 3;

  HostSegments(const std::vector<int64_t>& lengths, int64_t tile) {
    int64_t offset = 0;
    for (const int64_t length : lengths) {
      extents_.push_back({offset, length});
      offset += length + kGap;
    }
    elements_ = offset;
    first_tile_ = cuda::FirstTiles(extents_, tile);
  }
  cuda::Segments View() const {
    return {extents_.data(), first_tile_.data(), static_cast<int32_t>(extents_.size())};
  }
  const std::vector<cuda::Extent>& extents() const { return extents_; }
  int64_t tiles() const { return first_tile_.back(); }
  int64_t elements() const { return elements_; }
  template <class T>
  std::span<T> Of(std::vector<T>& values, size_t segment) const {
    return std::span(values).subspan(extents_[segment].offset, extents_[segment].length);
  }

 private:
  std::vector<cuda::Extent> extents_;
  std::vector<int64_t> first_tile_;
  int64_t elements_ = 0;
};

}  // namespace legacy::test
