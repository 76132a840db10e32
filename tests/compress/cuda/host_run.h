// Kernels of compress/cuda on the host: in every order of threads and blocks the same has to come out.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <vector>

#include "compress/cuda/host_device.h"
#include "compress/cuda/segments.h"
#include "compress/cuda/workspace.h"

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

// Segments of these lengths, one after the other with a gap between.
inline std::vector<cuda::Extent> Apart(const std::vector<int64_t>& lengths) {
  constexpr int64_t kGap = 3;
  std::vector<cuda::Extent> extents;
  int64_t offset = 0;
  for (const int64_t length : lengths) {
    extents.push_back({offset, length});
    offset += length + kGap;
  }
  return extents;
}

inline int64_t FlatSize(const cuda::SegmentTable& table) {
  const cuda::Extent& last = table.extents().back();
  return last.offset + last.length;
}

template <class T>
std::span<T> Part(std::vector<T>& values, const cuda::SegmentTable& table, size_t segment) {
  return std::span(values).subspan(table.extents()[segment].offset,
                                   table.extents()[segment].length);
}

// A table as a device would hold it.
class TableCopy {
 public:
  explicit TableCopy(const cuda::SegmentTable& table) : words_(table.Bytes() / sizeof(int64_t)) {
    table.Write(words_.data());
    view_ = table.View(words_.data());
  }
  cuda::Segments view() const { return view_; }

 private:
  std::vector<int64_t> words_;
  cuda::Segments view_;
};

// As much scratch as layout(workspace) asks for, full of rubbish.
class HostScratch {
 public:
  template <class Layout>
  explicit HostScratch(Layout layout)
      : bytes_(cuda::Workspace::BytesFor(layout)),
        memory_(static_cast<std::byte*>(::operator new(bytes_, kAligned))) {
    std::memset(memory_, 0xA5, bytes_);
  }
  HostScratch(const HostScratch&) = delete;
  ~HostScratch() { ::operator delete(memory_, kAligned); }
  cuda::Workspace workspace() const { return {memory_, bytes_}; }

 private:
  static constexpr std::align_val_t kAligned{cuda::Workspace::kAlignment};
  size_t bytes_;
  std::byte* memory_;
};

}  // namespace legacy::test
