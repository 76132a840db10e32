// An array in the memory of a HostDevice or a StreamDevice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace legacy::cuda {

template <class Device, class T>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  DeviceArray() = default;
  // Allocates n elements without initialising them.
  explicit DeviceArray(int64_t n) : size_(n) {
    if (n > 0) data_ = static_cast<T*>(Device::Allocate(bytes()));
  }
  DeviceArray(DeviceArray&& other) noexcept { *this = std::move(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceArray() {
    if (data_ != nullptr) Device::Free(data_);
  }

  T* data() const { return data_; }
  int64_t size() const { return size_; }
  size_t bytes() const { return static_cast<size_t>(size_) * sizeof(T); }

  // Makes room for at least n elements; the contents are lost if the array grows.
  void Reserve(int64_t n) {
    if (n > size_) *this = DeviceArray(n);
  }
  void Clear(Device& device) {
    if (size_ > 0) device.Clear(data_, bytes());
  }
  // Copies values.size() elements to the beginning, and grows the array if it is smaller.
  void Upload(Device& device, std::span<const T> values) {
    Reserve(std::ssize(values));
    if (!values.empty()) device.Upload(data_, values.data(), values.size_bytes());
  }
  // Makes room for at least n elements, and keeps the first `kept` of them.
  void Grow(Device& device, int64_t n, int64_t kept) {
    if (n <= size_) return;
    DeviceArray grown(n);
    if (kept > 0) device.Copy(grown.data_, data_, static_cast<size_t>(kept) * sizeof(T));
    *this = std::move(grown);
  }
  // Copies the first values.size() elements; they are valid after the device's Wait().
  void Download(Device& device, std::span<T> values) const {
    if (!values.empty()) device.Download(values.data(), data_, values.size_bytes());
  }
  // Copies `count` elements from `begin` on, and waits for them.
  std::vector<T> Download(Device& device, int64_t begin, int64_t count) const {
    std::vector<T> values(static_cast<size_t>(count));
    if (count > 0) device.Download(values.data(), data_ + begin, values.size() * sizeof(T));
    device.Wait();
    return values;
  }

 private:
  int64_t size_ = 0;
  T* data_ = nullptr;
};

// A table (SegmentTable, MessageTable, ...) is kept on the host and on the device.
template <class Device, class Table>
class DeviceTable {
 public:
  void Set(Device& device, Table table) {
    table_.emplace(std::move(table));
    std::vector<std::byte> bytes(table_->Bytes());
    table_->Write(bytes.data());
    memory_.Upload(device, bytes);
  }
  bool is_set() const { return table_.has_value(); }
  const Table& operator*() const { return *table_; }
  const Table* operator->() const { return &*table_; }
  auto view() const { return table_->View(memory_.data()); }

 private:
  std::optional<Table> table_;
  DeviceArray<Device, std::byte> memory_;
};

}  // namespace legacy::cuda
