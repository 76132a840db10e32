// Launches of a training step, compiled for a GPU.
#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/vector_kernels.h"
#include "trainer/cuda/sgd_kernels.h"

namespace legacy::cuda {

template void LaunchMap(StreamDevice&, ScaleByRule, const float*, float*, int64_t);
template void LaunchSgdStep(StreamDevice&, MomentumKind, const SgdRates&, const SgdArrays&,
                            int64_t);

}  // namespace legacy::cuda
