#include "compress/kernel_costs.h"

namespace legacy {
namespace {

// Quantisers at their default widths; bytes of the message are part of the kernel's. Where one scale is all values',
// they are read twice, and a set has three launches.
constexpr KernelCost kCosts[] = {
    {"accumulate", 1, 12, "read two, write their sum"},
    {"adacomp.encode", 3, 12,
     "maxima of bins; gradient and sum compared; what passes is compacted"},
    {"bitmap.decode", 3, 0.25, "of a place: bits counted, and read again"},
    {"cast.decode", 1, 6, "read fp16, write the mean"},
    {"cast.encode", 1, 6, "read fp32, write fp16"},
    {"cat.encode", 11, 8, "norm, and Top-K"},
    {"clip", 4, 12, "norm of the whole gradient; read and written again"},
    {"copy", 1, 8, "read, write"},
    {"entries.store", 1, 36, "of a kept value: position read, a sector of 32 bytes written"},
    {"feedback", 0, 8, "gradient read and residual written by the pass that encodes"},
    {"fft.encode", 11, 9.1, "transform, a sample, lists and selection; at theta = 0.85"},
    {"fft.forward", 1, 8, "spectrum alone: read, write"},
    {"fft.inverse", 2, 8, "sum or residual read and written"},
    {"gaussian.encode", 8, 12, "sum, sum of squares; threshold.encode"},
    {"histogram", 2, 4, "magnitudes counted and squared by bins"},
    {"lgreco.solve", 0, 0, "an update of the knapsack of units x options x steps, on the host"},
    {"maxmin.decode", 1, 0.53, "read codes of 4 bits and bounds of buckets"},
    {"maxmin.encode", 1, 4.53, "read; codes of 4 bits and bounds of buckets written"},
    {"mean", 0, 4, "written by the pass that decodes"},
    {"mean.decode", 1, 0, "one value for all"},
    {"mean.encode", 2, 4, "one sum"},
    {"momentum", 1, 20, "read gradient, velocity, residual; write the last two"},
    {"natural.decode", 1, 1.13, "read codes of 9 bits"},
    {"natural.encode", 1, 5.13, "read; codes of 9 bits written"},
    {"norm", 2, 4, "a sum over all values"},
    {"onebit.decode", 1, 0.13, "read signs"},
    {"onebit.encode", 3, 8.13, "read twice; signs written"},
    {"optimizer.sgd", 1, 20, "read weight, velocity, gradient; write weight, velocity"},
    {"orthonormalise", 2, 4, "means, and each vector read and written for those before it"},
    {"powersgd.lengths", 2, 16, "means; largest value; read, written"},
    {"powersgd.multiply", 1, 1, "a multiply-add: the matrix is read once, 4 bytes at rank 4"},
    {"powersgd.outer", 1, 1, "a multiply-add: the mean is written once, 4 bytes at rank 4"},
    {"qsgd.decode", 1, 0.51, "read codes of 4 bits and norms of buckets"},
    {"qsgd.encode", 1, 4.51, "read; codes of 4 bits and norms of buckets written"},
    {"randomk.decode", 0, 8,
     "of a kept value: value and position read by the pass that puts it there"},
    {"randomk.draw", 4, 0.375, "a bitmap of n bits, written once and read twice"},
    {"randomk.encode", 5, 40, "of a kept value: a sector read; position and value written"},
    {"rbf.decode", 1, 1, "read codes of 8 bits"},
    {"rbf.encode", 3, 9, "read twice; codes of 8 bits written"},
    {"redsync.encode", 6, 8, "histogram; threshold.encode"},
    {"sampled.encode", 17, 8, "a sample's Top-K, counts at thresholds, and selection"},
    {"sidco.encode", 6, 8, "histogram; threshold.encode"},
    {"sign.decode", 1, 0.13, "read signs"},
    {"sign.encode", 3, 8.13, "read twice; signs written"},
    {"sparse.decode", 3, 23, "of a kept value: message read; position and value written and read"},
    {"sparse.encode", 1, 23,
     "of a kept value: position and value written and read; message written"},
    {"sparse.sum", 1, 4, "values put to their places, summed and divided: the mean written"},
    {"terngrad.decode", 1, 0.25, "read codes of 2 bits"},
    {"terngrad.encode", 3, 8.25, "read twice; codes of 2 bits written"},
    {"threshold.encode", 5, 4, "read; what passes is compacted on the way"},
    {"topk.encode", 9, 4, "read; a sample's bracket goes before"},
    {"uniform.decode", 1, 1, "read codes of 8 bits"},
    {"uniform.encode", 3, 9, "read twice; codes of 8 bits written"},
    {"variance.encode", 4, 12, "read squares and gradient, write squares; threshold.encode"},
    {"votes.decode", 1, 8.13, "read signs and sum, write sum"},
    {"votes.encode", 1, 4.13, "read; signs written"},
};

}  // namespace

std::span<const KernelCost> KernelCosts() { return kCosts; }

}  // namespace legacy
