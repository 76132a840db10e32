#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/vector.h"
#include "compress/cuda/kernels/vector_kernels.h"

namespace legacy::cuda {
namespace {

template <class Term>
void Sums(const SegmentTable& table, Segments segments, const float* values, double* totals,
          void* workspace, size_t bytes, Stream stream) {
  Workspace scratch(workspace, bytes);
  double* const sums = LayOutSums(table, scratch);
  scratch.CheckEnough();
  StreamDevice device(stream);
  LaunchSums<Term>(device, table, segments, values, sums, totals);
}

}  // namespace

size_t SumsWorkspaceBytes(const SegmentTable& table) {
  return Workspace::BytesFor([&](Workspace& workspace) { LayOutSums(table, workspace); });
}

void SquaredNorms(const SegmentTable& table, Segments segments, const float* values, double* totals,
                  void* workspace, size_t bytes, Stream stream) {
  Sums<Square>(table, segments, values, totals, workspace, bytes, stream);
}

void AbsSums(const SegmentTable& table, Segments segments, const float* values, double* totals,
             void* workspace, size_t bytes, Stream stream) {
  Sums<Magnitude>(table, segments, values, totals, workspace, bytes, stream);
}

void NegativeSums(const SegmentTable& table, Segments segments, const float* values, double* totals,
                  void* workspace, size_t bytes, Stream stream) {
  Sums<NegativePart>(table, segments, values, totals, workspace, bytes, stream);
}

void FindLargest(const SegmentTable& table, Segments segments, const float* values,
                 uint32_t* largest, uint32_t* first_non_finite, Stream stream) {
  StreamDevice device(stream);
  LaunchExtremes(device, table, segments, values, {largest, first_non_finite});
}

void Add(const float* values, float* sum, int64_t n, Stream stream) {
  StreamDevice device(stream);
  LaunchMap(device, AddRule{}, values, sum, n);
}

void Scale(float* values, float factor, int64_t n, Stream stream) {
  StreamDevice device(stream);
  LaunchMap(device, ScaleRule{factor}, values, values, n);
}

}  // namespace legacy::cuda
