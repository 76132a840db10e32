// Exchanges call kernels by operations: the functions of X.h with the scratch memory that they
// need, the same for all devices. On a HostDevice (host_operations.h) they launch the kernels of
// X_kernels.h, on a StreamDevice (stream_operations.cuh) they call X.h, so that no kernel is
// compiled for a GPU twice.
//
//   Operations<Device> on(device);
//   on.SelectTopK(table, arrays, kept);
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cuda/device/device_array.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/coding/message.h"
#include "compress/cuda/kernels/coding/quantise.h"
#include "compress/cuda/kernels/selection/subset_table.h"
#include "compress/cuda/kernels/transforms/spectrum_table.h"

namespace legacy::cuda {

// A specialisation for each device.
template <class Device>
class Operations;

template <class Device>
using DeviceSegments = DeviceTable<Device, SegmentTable>;
template <class Device>
using DeviceQuantiser = DeviceTable<Device, QuantiserTable>;
template <class Device>
using DeviceMessages = DeviceTable<Device, MessageTable>;
template <class Device>
using DeviceSubsets = DeviceTable<Device, SubsetTable>;
template <class Device>
using DeviceSpectra = DeviceTable<Device, SpectrumTable>;

// Scratch memory of the operations of a stream, one after the other.
template <class Device>
class ScratchMemory {
 public:
  void* Reserve(size_t bytes) {
    if (memory_.bytes() < bytes) memory_ = {};  // none of it is kept
    memory_.Reserve(static_cast<int64_t>(bytes));
    return memory_.data();
  }
  // layout(workspace), where there is room for it.
  template <class Layout>
  auto LayOut(Layout layout) {
    const size_t bytes = Workspace::BytesFor(layout);
    Workspace workspace(Reserve(bytes), bytes);
    return layout(workspace);
  }

 private:
  DeviceArray<Device, std::byte> memory_;
};

}  // namespace legacy::cuda
