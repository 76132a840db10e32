#include "compress/kernel_costs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"

namespace legacy {
namespace {

// Of quantisers whose widths are a parameter, bytes of the message are charged by its length
// ("moved"). Where one scale is all values', they are read twice, and a set has three launches.
constexpr KernelCost kCosts[] = {
    {"accumulate", 1, 12, "read two, write their sum"},
    {"bitmap.decode", 3, 0.25, "of a place: bits counted, and read again"},
    {"cast.decode", 1, 6, "read fp16, write the mean"},
    {"cast.encode", 1, 6, "read fp32, write fp16"},
    {"clip", 4, 12, "norm of the whole gradient; read and written again"},
    {"copy", 1, 8, "read, write"},
    {"entries.store", 1, 36, "of a kept value: position read, a sector of 32 bytes written"},
    {"feedback", 0, 8, "gradient read and residual written by the pass that encodes"},
    {"fft.decode", 3, 30,
     "of a kept bin: message read; position and coefficients written and read, twice if quantised"},
    {"fft.encode", 11, 5.3, "read, and a sixteenth of it for a sample; powers counted"},
    {"fft.forward", 1, 10, "spectrum alone: read; coefficients and powers written"},
    {"fft.inverse", 2, 4, "written"},
    {"fp32.decode", 1, 8, "read, write the mean"},
    {"histogram", 2, 4, "magnitudes counted and squared by bins"},
    {"lgreco.solve", 0, 0, "an update of the knapsack of units x options x steps, on the host"},
    {"maxmin.decode", 1, 0, "codes and bounds of buckets are the message's"},
    {"maxmin.encode", 1, 4, "read"},
    {"maxmin.feedback", 0, 8, "feedback: what was sent is decoded"},
    {"mean", 0, 4, "written by the pass that decodes"},
    {"mean.decode", 1, 0, "one value for all"},
    {"momentum", 1, 20, "read gradient, velocity, residual; write the last two"},
    {"moved", 0, 1, "a byte of a message, a sample, a list: what is moved beside elements"},
    {"natural.decode", 1, 1.13, "read codes of 9 bits"},
    {"natural.encode", 1, 5.13, "read; codes of 9 bits written"},
    {"natural.feedback", 0, 8, "feedback: what was sent is decoded"},
    {"norm", 2, 4, "a sum over all values"},
    {"onebit.decode", 1, 0.13, "read signs"},
    {"onebit.encode", 3, 8.13, "read twice; signs written"},
    {"onebit.feedback", 0, 12, "feedback, read twice: what was sent is decoded"},
    {"optimizer.sgd", 1, 20, "read weight, velocity, gradient; write weight, velocity"},
    {"orthonormalise", 2, 4, "means, and each vector read and written for those before it"},
    {"powersgd.lengths", 2, 16, "means; largest value; read, written"},
    {"powersgd.multiply", 1, kMultiplyAddBytes, "a multiply-add; reading the matrix hides twelve"},
    {"powersgd.outer", 1, kMultiplyAddBytes, "a multiply-add; writing the mean hides twelve"},
    {"qsgd.decode", 1, 0, "codes and norms of buckets are the message's"},
    {"qsgd.encode", 1, 4, "read"},
    {"qsgd.feedback", 0, 8, "feedback: what was sent is decoded"},
    {"randomk.decode", 0, 8,
     "of a kept value: value and position read by the pass that puts it there"},
    {"randomk.draw", 4, 4.4, "read for what is not finite; a bitmap of n bits, written and read"},
    {"randomk.encode", 5, 45, "of a kept value: a sector read; position and value written, read"},
    {"rbf.decode", 1, 0, "codes are the message's"},
    {"rbf.encode", 3, 9, "read twice, and a sample of it"},
    {"rbf.feedback", 0, 13, "feedback, read twice, and a sample of it"},
    {"sampled.encode", 17, 8, "a sample's Top-K, counts at thresholds, and selection"},
    {"sign.decode", 1, 0.13, "read signs"},
    {"sign.encode", 3, 8.13, "read twice; signs written"},
    {"sign.feedback", 0, 12, "feedback, read twice: what was sent is decoded"},
    {"sparse.decode", 3, 23, "of a kept value: message read; position and value written and read"},
    {"sparse.encode", 1, 23,
     "of a kept value: position and value written and read; message written"},
    {"sparse.sum", 1, 4, "values put to their places, summed and divided: the mean written"},
    {"terngrad-shared.decode", 1, 0.25, "read sums of codes"},
    {"terngrad-shared.encode", 1, 4.25, "terngrad.encode without its sums"},
    {"terngrad.decode", 1, 0.25, "read codes of 2 bits"},
    {"terngrad.encode", 3, 8.25, "read twice; codes of 2 bits written"},
    {"threshold.encode", 5, 4, "read; what passes is compacted on the way"},
    {"topk.encode", 9, 4, "read; a sample's bracket goes before"},
    {"uniform.decode", 1, 0, "codes are the message's"},
    {"uniform.encode", 3, 8, "read twice"},
    {"uniform.feedback", 0, 12, "feedback, read twice: what was sent is decoded"},
    {"votes.encode", 1, 4.13, "sign.encode without its sums"},
};

// A method without kernels is charged as kernels that exist, one after the other, and the bytes
// that one of them moves besides.
struct Composed {
  std::string_view name;
  std::string_view parts[3];
  double bytes;
  std::string_view what;
};

constexpr Composed kComposed[] = {
    {"adacomp.encode", {"threshold.encode"}, 0, "threshold.encode; a bin's maximum goes before"},
    {"cat.encode", {"norm", "histogram", "topk.encode"}, 0, "norm; histogram; topk.encode"},
    {"gaussian.encode", {"norm", "norm", "threshold.encode"}, 0, "two sums; threshold.encode"},
    {"mean.encode", {"norm"}, 0, "one sum"},
    {"redsync.encode",
     {"histogram", "norm", "threshold.encode"},
     0,
     "histogram; maximum; threshold.encode"},
    {"sidco.encode", {"histogram", "threshold.encode"}, 0, "histogram; threshold.encode"},
    {"variance.encode",
     {"threshold.encode"},
     12,
     "threshold.encode; reads gradient and squares, writes squares"},
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
