// Compiles the launches of selection and of sparse vectors for a GPU.
#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/selection/blocks_kernels.h"
#include "compress/cuda/kernels/selection/dgc_kernels.h"
#include "compress/cuda/kernels/selection/entries_kernels.h"
#include "compress/cuda/kernels/selection/histogram_kernels.h"
#include "compress/cuda/kernels/selection/random_subset_kernels.h"
#include "compress/cuda/kernels/selection/sampled_kernels.h"
#include "compress/cuda/kernels/selection/sparse_sum_kernels.h"
#include "compress/cuda/kernels/selection/threshold_kernels.h"
#include "compress/cuda/kernels/selection/topk_kernels.h"

namespace legacy::cuda {

// Compiled in message.cu.
extern template void LaunchBits(StreamDevice&, const BitJob&, int64_t, int64_t);

template void LaunchTopK(StreamDevice&, const TopKJob&, int64_t, int64_t);
template void LaunchThreshold(StreamDevice&, const ThresholdJob&, const SegmentTable&);
template void LaunchSubsets(StreamDevice&, const SubsetTable&, const SubsetJob&);
template void LaunchTake(StreamDevice&, const SubsetTable&, const Subsets&, const uint32_t*, float*,
                         bool, float*, uint32_t*);
template void LaunchTakeSamples(StreamDevice&, const SegmentTable&, Segments,
                                const SampledElements*, const float*, float*);
template void LaunchSmallestMagnitudes(StreamDevice&, const SegmentTable&, Segments, const float*,
                                       float*);
template void LaunchCountAtLeast(StreamDevice&, const SegmentTable&, Segments, const float*,
                                 const float*, uint32_t*, uint32_t*);
template void LaunchHistogram(StreamDevice&, const SegmentTable&, Segments, const float*,
                              const HistogramBins&, int64_t);
template void LaunchPutEntries(StreamDevice&, Segments, const PackedLists&, int64_t, float*);
template void LaunchMoveEntries(StreamDevice&, int32_t, const PackedLists&, const MovedEntries&,
                                int64_t);
template void LaunchEnumerate(StreamDevice&, const SegmentTable&, Segments, uint32_t*);
template void LaunchMomentum(StreamDevice&, const SegmentTable&, Segments, const MomentumArrays&,
                             const cpu::MomentumRule&);
template void LaunchClipFactors(StreamDevice&, const double*, float*, int32_t, double);
template void LaunchClearSelected(StreamDevice&, Segments, const PackedLists&, int64_t, float*,
                                  float*);
template void LaunchSparseSum(StreamDevice&, const SegmentTable&, Segments, const PackedLists&,
                              const SparseSumOptions&, float*);

template void LaunchBlocksEncode(StreamDevice&, const BlocksTable&, const BlocksVectors&,
                                 const BlocksArrays&);
template void LaunchBlocksDecode(StreamDevice&, const BlocksTable&, const BlocksVectors&,
                                 const BlocksReadArrays&);

}  // namespace legacy::cuda
