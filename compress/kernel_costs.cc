#include "compress/kernel_costs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"

namespace legacy {
namespace {

// For quantisers whose widths are a parameter, bytes of the message are charged by its length
// ("moved"). If one scale covers all values, they are read twice, and a set has three launches.
constexpr KernelCost kCosts[] = {
    {"accumulate", 1, 12, "reads two vectors, writes their sum"},
    {"bitmap.decode", 3, 0.25, "for each position: counts the bits, and reads them again"},
    {"blocks.norm", 1, 4, "reads the values, and sums the squares of each block"},
    {"blocks.select", 1, 12,
     "for each block: reads its square, and writes its place among those that are sent"},
    {"cast.decode", 1, 6, "reads fp16, writes the mean"},
    {"cast.encode", 1, 6, "reads fp32, writes fp16"},
    {"clip", 4, 12, "computes the norm of the whole gradient, then reads and writes it"},
    {"copy", 1, 8, "reads and writes"},
    {"dynamiq.decode", 1, 0, "codes and scales count as bytes of the message"},
    {"dynamiq.encode", 2, 4,
     "draws what workers share, which counts as bytes moved; reads the values"},
    {"dynamiq.hop", 1, 4, "decodes a partial sum, adds the values, and encodes it again"},
    {"dynamiq.statistics", 1, 4, "reads the values"},
    {"dct.multiply", 1, kMultiplyAddBytes, "for each multiply-add; a chunk stays in shared memory"},
    {"dct.select", 0, 4, "the pass that multiplies also reads the values, and selects in a chunk"},
    {"eden.decode", 1, 0, "codes and scale count as bytes of the message"},
    {"eden.quantise", 1, 4,
     "reads the rotation, and sums products; codes count as bytes of the message"},
    {"entries.store", 1, 36,
     "for each kept value: reads the position, writes a sector of 32 bytes"},
    {"feedback", 0, 8, "the pass that encodes also reads the gradient and writes the residual"},
    {"fft.decode", 3, 30,
     "for each kept bin: reads the message; writes and reads position and coefficients, twice if "
     "they are quantised"},
    {"fft.encode", 11, 5.3, "reads the values, and a sixteenth of them as a sample; counts powers"},
    {"fft.forward", 1, 10, "transforms only: reads the values, writes coefficients and powers"},
    {"fft.inverse", 2, 4, "writes the values"},
    {"fp8.decode", 1, 0, "codes count as bytes of the message"},
    {"fp8.encode", 3, 8, "reads the values twice"},
    {"fp8.feedback", 0, 12,
     "error feedback: reads the gradient twice, decodes what was sent, writes the residual"},
    {"fp32.decode", 1, 8, "reads fp32, writes the mean"},
    {"histogram", 2, 4, "counts magnitudes and sums squares in bins"},
    {"lgreco.solve", 0, 0, "one update of the knapsack of units x options x steps, on the host"},
    {"maxmin.decode", 1, 0, "codes and bounds of buckets count as bytes of the message"},
    {"maxmin.encode", 1, 4, "reads the values"},
    {"maxmin.hop", 1, 4, "decodes a partial sum, adds the values, and encodes it again"},
    {"maxmin.feedback", 0, 8,
     "error feedback: reads the gradient, decodes what was sent, writes the residual"},
    {"mean", 0, 4, "the pass that decodes also writes the mean"},
    {"mean.decode", 1, 0, "uses one value for all elements"},
    {"momentum", 1, 20, "reads gradient, velocity and residual; writes the last two"},
    {"moved", 0, 1, "for each byte moved besides elements: of messages, samples, lists"},
    {"mx.decode", 1, 0, "codes and scales of blocks count as bytes of the message"},
    {"mx.encode", 1, 4, "reads the values"},
    {"mx.hop", 1, 4, "decodes a partial sum, adds the values, and encodes it again"},
    {"mx.feedback", 0, 8,
     "error feedback: reads the gradient, decodes what was sent, writes the residual"},
    {"natural.decode", 1, 1.13, "reads codes of 9 bits"},
    {"natural.encode", 1, 5.13, "reads the values; writes codes of 9 bits"},
    {"natural.feedback", 0, 8,
     "error feedback: reads the gradient, decodes what was sent, writes the residual"},
    {"norm", 2, 4, "sums over all values"},
    {"onebit.decode", 1, 0.13, "reads signs"},
    {"onebit.encode", 3, 8.13, "reads the values twice; writes signs"},
    {"onebit.feedback", 0, 12,
     "error feedback: reads the gradient twice, decodes what was sent, writes the residual"},
    {"optimizer.adam", 1, 28,
     "reads weight, gradient and both means; writes weight and both means"},
    {"optimizer.lamb", 4, 48,
     "as Adam, but writes the update; norms of it and the weight; reads both, writes the weight"},
    {"optimizer.sgd", 1, 20, "reads weight, velocity and gradient; writes weight and velocity"},
    {"optimizer.sign", 1, 12, "reads weight and gradient; writes the weight"},
    {"orthonormalise", 2, 4,
     "computes means; reads and writes each vector once for every vector before it"},
    {"powersgd.lengths", 2, 16, "computes means and the largest value; reads and writes"},
    {"powersgd.multiply", 1, kMultiplyAddBytes,
     "for each multiply-add; twelve hide behind the read of an element"},
    {"powersgd.outer", 1, kMultiplyAddBytes,
     "for each multiply-add; twelve hide behind the write of an element of the mean"},
    {"qsgd-elias.decode", 1, 186,
     "one code after the other: the bytes that a processor copies in the same time"},
    {"qsgd-elias.encode", 1, 200,
     "one code after the other: the bytes that a processor copies in the same time"},
    {"qsgd-elias.feedback", 0, 193,
     "decodes what was sent, one code after the other: the bytes that a processor copies in the "
     "same time"},
    {"qsgd.decode", 1, 0, "codes and norms of buckets count as bytes of the message"},
    {"qsgd.encode", 1, 4, "reads the values"},
    {"qsgd.hop", 1, 4, "decodes a partial sum, adds the values, and encodes it again"},
    {"qsgd.feedback", 0, 8,
     "error feedback: reads the gradient, decodes what was sent, writes the residual"},
    {"randomk.decode", 0, 8,
     "for each kept value: the pass that stores it also reads value and position"},
    {"randomk.draw", 4, 4.4,
     "checks that the values are finite; writes and reads a bitmap of n bits"},
    {"randomk.encode", 5, 45,
     "for each kept value: reads a sector; writes and reads position and value"},
    {"rbf.decode", 1, 0, "codes count as bytes of the message"},
    {"rbf.encode", 3, 9, "reads the values twice, and a sample of them"},
    {"rbf.feedback", 0, 13,
     "error feedback: reads the gradient twice and a sample of it, writes the residual"},
    {"rotate.feedback", 1, 8,
     "error feedback: rotates back what was sent, in blocks that stay in shared memory; reads and "
     "writes the residual"},
    {"rotate.forward", 1, 8, "reads the values in blocks, writes their rotation and its norm"},
    {"rotate.inverse", 0, 4, "the pass that decodes also rotates back and writes the mean"},
    {"sampled.encode", 17, 8,
     "selects the Top-K of a sample, counts elements at thresholds, and selects those above one"},
    {"sign.decode", 1, 0.13, "reads signs"},
    {"sign.encode", 3, 8.13, "reads the values twice; writes signs"},
    {"sign.feedback", 0, 12,
     "error feedback: reads the gradient twice, decodes what was sent, writes the residual"},
    {"sparse.decode", 3, 23,
     "for each kept value: reads the message; writes and reads position and value"},
    {"sparse.encode", 1, 23,
     "for each kept value: writes and reads position and value; writes the message"},
    {"sparse.sum", 1, 4,
     "stores values at their positions, sums and divides them, and writes the mean"},
    {"terngrad-shared.decode", 1, 0.25, "reads sums of codes"},
    {"terngrad-shared.encode", 1, 4.25, "as terngrad.encode, without its sums"},
    {"terngrad.decode", 1, 0.25, "reads codes of 2 bits"},
    {"terngrad.encode", 3, 8.25, "reads the values twice; writes codes of 2 bits"},
    {"thc.decode", 1, 0, "sums count as bytes of the message"},
    {"thc.encode", 1, 4,
     "reads the values, which are rotated and rounded in shared memory; codes count as bytes of "
     "the "
     "message"},
    {"thc.feedback", 0, 4,
     "error feedback: the pass that encodes also rotates back what was sent, and writes the "
     "residual"},
    {"threshold.encode", 5, 4,
     "reads the values, and compacts those above the threshold in the same pass"},
    {"topk.encode", 9, 4, "reads the values, after a sample has bracketed the threshold"},
    {"uniform.decode", 1, 0, "codes count as bytes of the message"},
    {"uniform.encode", 3, 8, "reads the values twice"},
    {"uniform.feedback", 0, 12,
     "error feedback: reads the gradient twice, decodes what was sent, writes the residual"},
    {"votes.encode", 1, 4.13, "as sign.encode, without its sums"},
};

// A method without kernels, charged as existing kernels one after the other, plus the bytes that
// one of them moves in addition.
struct Composed {
  std::string_view name;
  std::string_view parts[3];
  double bytes;
  std::string_view what;
};

constexpr Composed kComposed[] = {
    {"adacomp.encode", {"threshold.encode"}, 0, "threshold.encode, after the maximum of each bin"},
    {"cat.encode", {"norm", "histogram", "topk.encode"}, 0, "norm; histogram; topk.encode"},
    {"gaussian.encode", {"norm", "norm", "threshold.encode"}, 0, "norm twice; threshold.encode"},
    {"mean.encode", {"norm"}, 0, "norm"},
    {"redsync.encode",
     {"histogram", "norm", "threshold.encode"},
     0,
     "histogram; norm (for the maximum); threshold.encode"},
    {"sidco.encode", {"histogram", "threshold.encode"}, 0, "histogram; threshold.encode"},
    {"variance.encode",
     {"threshold.encode"},
     12,
     "threshold.encode; also reads gradient and squares, and writes squares"},
    {"votes.decode", {"sign.decode"}, 0, "sign.decode"},
};

const KernelCost& Find(std::span<const KernelCost> costs, std::string_view name) {
  const auto found = std::ranges::find(costs, name, &KernelCost::name);
  if (found == costs.end()) throw Error("kernel", std::string(name), "those of the table");
  return *found;
}

std::vector<KernelCost> AllCosts() {
  std::vector<KernelCost> all(std::begin(kCosts), std::end(kCosts));
  for (const Composed& composed : kComposed) {
    KernelCost cost = {composed.name, 0, composed.bytes, composed.what};
    for (const std::string_view part : composed.parts) {
      if (part.empty()) continue;
      cost.launches += Find(kCosts, part).launches;
      cost.bytes += Find(kCosts, part).bytes;
    }
    all.push_back(cost);
  }
  std::ranges::sort(all, {}, &KernelCost::name);
  return all;
}

}  // namespace

std::span<const KernelCost> KernelCosts() {
  static const std::vector<KernelCost> all = AllCosts();
  return all;
}

const KernelCost& CostOf(std::string_view kernel) { return Find(KernelCosts(), kernel); }

}  // namespace legacy
