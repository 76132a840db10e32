// Compiles the launches of quantisers for a GPU.
#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/coding/dequantise_kernels.h"
#include "compress/cuda/kernels/coding/hop_kernels.h"
#include "compress/cuda/kernels/coding/quantise_kernels.h"

namespace legacy::cuda {

template void LaunchQuantise(StreamDevice&, const QuantiseJob&, const QuantiserTable&);
template void LaunchHops(StreamDevice&, const QuantiserTable&, QuantisedParts, const HopArrays&);
template void LaunchClearOutside(StreamDevice&, const SegmentTable&, Segments, const Extent*,
                                 float*);
template void LaunchDequantise(StreamDevice&, const DequantiseJob&, const QuantiserTable&);

}  // namespace legacy::cuda
