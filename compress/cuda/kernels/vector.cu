// Compiles the launches of vectors and casts for a GPU.
#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/cast_kernels.h"
#include "compress/cuda/kernels/vector_kernels.h"

namespace legacy::cuda {

template void LaunchSums<Square>(StreamDevice&, const SegmentTable&, Segments, const float*,
                                 double*, double*);
template void LaunchSums<Magnitude>(StreamDevice&, const SegmentTable&, Segments, const float*,
                                    double*, double*);
template void LaunchSums<NegativePart>(StreamDevice&, const SegmentTable&, Segments, const float*,
                                       double*, double*);
template void LaunchExtremes(StreamDevice&, const SegmentTable&, Segments, const float*,
                             const Extremes&);
template void LaunchMap(StreamDevice&, AddRule, const float*, float*, int64_t);
template void LaunchMap(StreamDevice&, CopyRule, const float*, float*, int64_t);
template void LaunchMap(StreamDevice&, ScaleRule, const float*, float*, int64_t);
template void LaunchMap(StreamDevice&, ToHalf, const float*, uint16_t*, int64_t);
template void LaunchMap(StreamDevice&, ToBfloat16, const float*, uint16_t*, int64_t);
template void LaunchMap(StreamDevice&, FromHalf, const uint16_t*, float*, int64_t);
template void LaunchMap(StreamDevice&, FromBfloat16, const uint16_t*, float*, int64_t);

}  // namespace legacy::cuda
