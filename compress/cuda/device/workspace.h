// A workspace is scratch memory from the caller, cut into arrays. A workspace without memory only
// adds up the bytes that are needed, so that one piece of code both measures and allocates.
//
//   size_t bytes = Workspace::BytesFor([&](Workspace& w) { Layout(w, job); });
#pragma once

#include <cstddef>
#include <cstdint>

namespace legacy::cuda {

class Workspace {
 public:
  // Alignment in bytes of every array, provided that `memory` is aligned so.
  static constexpr size_t kAlignment = 256;

  Workspace() = default;
  Workspace(void* memory, size_t bytes) : memory_(static_cast<std::byte*>(memory)), bytes_(bytes) {}

  // Returns room for n elements, or null if there is no memory or not enough of it.
  template <class T>
  T* Take(int64_t n) {
    const size_t begin = used_;
    used_ += (static_cast<size_t>(n) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return used_ <= bytes_ ? reinterpret_cast<T*>(memory_ + begin) : nullptr;
  }
  size_t used() const { return used_; }

  template <class Layout>
  static size_t BytesFor(Layout layout) {
    Workspace none;
    layout(none);
    return none.used();
  }

 private:
  std::byte* memory_ = nullptr;
  size_t bytes_ = 0;
  size_t used_ = 0;
};

}  // namespace legacy::cuda
