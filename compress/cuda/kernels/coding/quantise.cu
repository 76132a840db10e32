// Compiles the launches of quantisers for a GPU.
#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/coding/dequantise_kernels.h"
#include "compress/cuda/kernels/coding/dynamiq_kernels.h"
#include "compress/cuda/kernels/coding/hop_kernels.h"
#include "compress/cuda/kernels/coding/quantise_kernels.h"

namespace legacy::cuda {

template void LaunchQuantise(StreamDevice&, const QuantiseJob&, const QuantiserTable&);
template void LaunchDynamiqStatistics(StreamDevice&, int64_t, const DynamiqStatistics::Args&);
template void LaunchDynamiqEncode(StreamDevice&, int64_t, const DynamiqEncode::Args&);
template void LaunchDynamiqHops(StreamDevice&, int64_t, const DynamiqAddHop::Args&);
template void LaunchDynamiqGather(StreamDevice&, int64_t, const DynamiqGather::Args&);
template void LaunchHops(StreamDevice&, const QuantiserTable&, QuantisedParts, const HopArrays&);
template void LaunchClearOutside(StreamDevice&, const SegmentTable&, Segments, const Extent*,
                                 float*);
template void LaunchDequantise(StreamDevice&, const DequantiseJob&, const QuantiserTable&);

}  // namespace legacy::cuda
