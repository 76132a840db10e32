// One source of tests for two devices: compiled by the C++ compiler, kernels run on the host, in
// several orders of threads and blocks, which all have to give the same; compiled by nvcc, on a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "compress/cuda/segments.h"
#include "compress/cuda/workspace.h"

#if defined(__CUDACC__)
#include "compress/cuda/stream_device.cuh"
#else
#include "compress/cuda/host_device.h"
#endif

namespace legacy::test {

#if defined(__CUDACC__)

using Device = cuda::StreamDevice;

// run(device) with its launches done.
template <class Run>
void OnDevice(Run run) {
  Device device(nullptr);
  run(device);
  cuda::Check(cudaDeviceSynchronize(), "kernels of a test");
}

inline void* Allocate(size_t bytes) {
  void* memory = nullptr;
  cuda::Check(cudaMalloc(&memory, bytes + 1), "memory of a test");
  return memory;
}
inline void Free(void* memory) { cudaFree(memory); }
inline void Copy(void* to, const void* from, size_t bytes) {
  cuda::Check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copy of a test");
}
inline void Fill(void* memory, int byte, size_t bytes) {
  cuda::Check(cudaMemset(memory, byte, bytes), "memory of a test");
}

#else

using Device = cuda::HostDevice;

template <class Run>
void OnDevice(Run run) {
  for (const cuda::Order order :
       {cuda::Order::kForward, cuda::Order::kBackward, cuda::Order::kScattered}) {
    SCOPED_TRACE("order " + std::to_string(static_cast<int>(order)));
    Device device(order);
    run(device);
  }
}

inline constexpr std::align_val_t kAlignment{cuda::Workspace::kAlignment};
inline void* Allocate(size_t bytes) { return ::operator new(bytes, kAlignment); }
inline void Free(void* memory) { ::operator delete(memory, kAlignment); }
inline void Copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
inline void Fill(void* memory, int byte, size_t bytes) { std::memset(memory, byte, bytes); }

#endif

// Memory of the device, full of rubbish at first.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes), data_(Allocate(bytes)) {
    Fill(data_, 0xA5, bytes);
  }
  Memory(const Memory&) = delete;
  ~Memory() { Free(data_); }
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

// The tables of segments.
class Tables {
 public:
  explicit Tables(const cuda::SegmentTable& table) : memory_(table.Bytes()) {
    std::vector<int64_t> words(table.Bytes() / sizeof(int64_t));
    table.Write(words.data());
    Copy(memory_.data(), words.data(), table.Bytes());
    view_ = table.View(memory_.data());
  }
  cuda::Segments view() const { return view_; }

 private:
  Memory memory_;
  cuda::Segments view_;
};

// As much scratch as layout(workspace) asks for.
class Scratch {
 public:
  template <class Layout>
  explicit Scratch(Layout layout) : memory_(cuda::Workspace::BytesFor(layout)) {}
  cuda::Workspace workspace() const { return {memory_.data(), memory_.bytes()}; }

 private:
  Memory memory_;
};

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

}  // namespace legacy::test
