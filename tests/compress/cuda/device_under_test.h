// The tests run from one source on three devices. Compiled by the C++ compiler, kernels run on the
// host in several orders of threads and blocks, which must all give the same result. With
// ThreadSanitizer they run as fibers (fiber_device.h). Compiled by nvcc they run on a GPU.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/workspace.h"

#if defined(__CUDACC__)
#include "compress/cuda/device/stream_device.cuh"
#elif defined(__SANITIZE_THREAD__)
#include "tests/compress/cuda/fiber_device.h"
#else
#include "compress/cuda/device/host_device.h"
#endif

namespace legacy::test {

#if defined(__CUDACC__)

using Device = cuda::StreamDevice;

inline Device AnyDevice() { return Device(nullptr); }
// Calls run(device) and waits for its launches.
template <class Run>
void OnDevice(Run run) {
  Device device = AnyDevice();
  run(device);
  device.Wait();
}

#elif defined(__SANITIZE_THREAD__)

using Device = FiberDevice;

inline Device AnyDevice() { return Device(); }
template <class Run>
void OnDevice(Run run) {
  Device device;
  run(device);
}

#else

using Device = cuda::HostDevice;

inline Device AnyDevice() { return Device(); }
template <class Run>
void OnDevice(Run run) {
  for (const cuda::Order order :
       {cuda::Order::kForward, cuda::Order::kBackward, cuda::Order::kScattered}) {
    SCOPED_TRACE("order " + std::to_string(static_cast<int>(order)));
    Device device(order);
    run(device);
  }
}

#endif

// Copies bytes and waits until they are copied.
inline void Copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  Device device = AnyDevice();
  device.Copy(to, from, bytes);
  device.Wait();
}

// Memory of the device, filled with arbitrary bytes at first.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes), data_(Device::Allocate(bytes + 1)) {
    const std::vector<unsigned char> rubbish(bytes, 0xA5);
    Copy(data_, rubbish.data(), bytes);
  }
  Memory(const Memory&) = delete;
  ~Memory() { Device::Free(data_); }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  void* data_;
};

// An array on the device.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t n) : n_(n), memory_(static_cast<size_t>(n) * sizeof(T)) {}
  explicit Buffer(const std::vector<T>& values) : Buffer(std::ssize(values)) {
    Copy(memory_.data(), values.data(), memory_.bytes());
  }
  T* data() const { return static_cast<T*>(memory_.data()); }
  std::vector<T> Get() const {
    std::vector<T> values(n_);
    Copy(values.data(), memory_.data(), memory_.bytes());
    return values;
  }

 private:
  int64_t n_;
  Memory memory_;
};

// The device's form of a SegmentTable, a MessageTable, ...
template <class Table>
class Tables {
 public:
  explicit Tables(const Table& table) : memory_(table.Bytes()) {
    std::vector<std::byte> bytes(table.Bytes());
    table.Write(bytes.data());
    Copy(memory_.data(), bytes.data(), bytes.size());
    view_ = table.View(memory_.data());
  }
  const auto& view() const { return view_; }

 private:
  Memory memory_;
  decltype(std::declval<Table>().View(nullptr)) view_;
};

// Scratch memory of the size that layout(workspace) asks for.
class Scratch {
 public:
  template <class Layout>
  explicit Scratch(Layout layout) : memory_(cuda::Workspace::BytesFor(layout)) {}
  cuda::Workspace workspace() const { return {memory_.data(), memory_.bytes()}; }

 private:
  Memory memory_;
};

// Returns segments of these lengths, one after the other with gaps between.
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

}  // namespace legacy::test
