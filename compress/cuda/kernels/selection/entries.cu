#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/selection/entries.h"
#include "compress/cuda/kernels/selection/entries_kernels.h"

namespace legacy::cuda {

void PutEntries(Segments segments, const PackedLists& lists, int64_t most, float* flat,
                Stream stream) {
  StreamDevice device(stream);
  LaunchPutEntries(device, segments, lists, most, flat);
}

void MoveEntries(int32_t count, const PackedLists& from, const MovedEntries& to, int64_t most,
                 Stream stream) {
  StreamDevice device(stream);
  LaunchMoveEntries(device, count, from, to, most);
}

void Enumerate(const SegmentTable& table, Segments segments, uint32_t* positions, Stream stream) {
  StreamDevice device(stream);
  LaunchEnumerate(device, table, segments, positions);
}

}  // namespace legacy::cuda
