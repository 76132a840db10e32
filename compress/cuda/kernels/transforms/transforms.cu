// Compiles the launches of transforms and of PowerSGD for a GPU.
#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/transforms/arc_kernels.h"
#include "compress/cuda/kernels/transforms/dct_kernels.h"
#include "compress/cuda/kernels/transforms/eden_kernels.h"
#include "compress/cuda/kernels/transforms/inverse_kernels.h"
#include "compress/cuda/kernels/transforms/orthonormalise_kernels.h"
#include "compress/cuda/kernels/transforms/powersgd_kernels.h"
#include "compress/cuda/kernels/transforms/spectrum_kernels.h"
#include "compress/cuda/kernels/transforms/thc_kernels.h"

namespace legacy::cuda {

// Compiled in selection.cu.
extern template void StreamDevice::Launch<TopKRound>(int64_t, const TopKRound::Args&);
extern template void StreamDevice::Launch<TopKCount>(int64_t, const TopKCount::Args&);
extern template void StreamDevice::Launch<TopKScan>(int64_t, const TopKScan::Args&);

template void LaunchSpectrum(StreamDevice&, const SpectrumTable&, const SpectrumJob&);
template void LaunchInverse(StreamDevice&, const SpectrumTable&, const InverseJob&);
template void LaunchDct(StreamDevice&, const DctTable&, const DctJob&);
template void LaunchDctSubtract(StreamDevice&, const DctTable&, const DctVectors&,
                                const DctReadArrays&);
template void LaunchDctDecode(StreamDevice&, const DctTable&, const DctVectors&,
                              const DctReadArrays&);
template void LaunchEden(StreamDevice&, const EdenTable&, const EdenJob&);
template void LaunchEdenSubtract(StreamDevice&, const EdenTable&, const EdenVectors&,
                                 const EdenReadArrays&);
template void LaunchEdenDecode(StreamDevice&, const EdenTable&, const EdenVectors&,
                               const EdenReadArrays&);
template void LaunchArcFeed(StreamDevice&, const ArcTable&, const ArcVectors&, const float*, float*,
                            std::byte*, uint32_t*);
template void LaunchArc(StreamDevice&, const ArcTable&, const ArcVectors&, const ArcArrays&);
template void LaunchThcNorms(StreamDevice&, const ThcUnitTable&, const ThcVectors&, const float*,
                             double*, double*, uint32_t*);
template void LaunchThcEncode(StreamDevice&, const ThcUnitTable&, const ThcJob&);
template void LaunchThcDecode(StreamDevice&, const ThcUnitTable&, const ThcVectors&,
                              const ThcReadArrays&);
template void LaunchOrthonormalise(StreamDevice&, const Basis*, int64_t, float*, double*);
template void StreamDevice::Launch<WriteHeaders>(int64_t, const WriteHeaders::Args&);
template void StreamDevice::Launch<Compensate>(int64_t, const Compensate::Args&);
template void StreamDevice::Launch<MeanFactors>(int64_t, const MeanFactors::Args&);
template void StreamDevice::Launch<Reconstruct>(int64_t, const Reconstruct::Args&);
template void StreamDevice::Launch<ScaleFactors>(int64_t, const ScaleFactors::Args&);

}  // namespace legacy::cuda
