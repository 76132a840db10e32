// AdaComp sends, in every bin of consecutive elements, those that would lead the bin if the step's
// gradient were added once more. With G = residual + gradient, element i of a bin is sent if |G_i +
// gradient_i| >= max |G| of the bin, so that every bin determines how many of its elements are
// sent. Values are sent unquantised (the paper continues to quantise them to one scale). Without a
// residual G is the gradient, and elements that reach half of the bin's maximum are sent. Bins of
// zeros send nothing.
//
// Each stream is read twice per bin, the second time from the first caches. There is no parameter,
// so policies cannot drive it. A second selection from a first one would have other bins.
#include <algorithm>
#include <cmath>

#include "compress/checks.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/sparsifier.h"

namespace legacy {
namespace {

class AdaComp : public Sparsifier {
 public:
  AdaComp(int64_t bins, int64_t bin) : bins_(bins), bin_(bin) {}
  std::string_view Name() const override { return "adacomp"; }
  CodecId Id() const override { return CodecId::kAdaComp; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  SparsifierTraits Traits() const override { return {.fixed_count = false}; }
  // The gradient is read again in addition to the sum.
  WorkList SumWork(int64_t numel) const override {
    return {{"accumulate", numel}, Moved(int64_t{sizeof(float)} * numel)};
  }
  Selection Select(std::span<const float> values, int64_t,
                   const CodecContext& context) const override {
    return SelectBinwise(values, values, context);
  }
  Selection SelectWithFeedback(std::span<const float> gradient, std::span<float> residual,
                               int64_t count, const CodecContext& context) const override {
    if (!gradient.empty()) cpu::Add(gradient, residual);
    Selection selection = gradient.empty() ? Select(residual, count, context)
                                           : SelectBinwise(residual, gradient, context);
    cpu::ClearAt(residual, selection.positions);
    return selection;
  }

 private:
  int64_t BinOf(int64_t numel) const { return bin_ > 0 ? bin_ : (numel + bins_ - 1) / bins_; }
  Selection SelectBinwise(std::span<const float> sum, std::span<const float> gradient,
                          const CodecContext& context) const;

  int64_t bins_;
  int64_t bin_;  // elements per bin; 0: derived from bins_
};

Selection AdaComp::SelectBinwise(std::span<const float> sum, std::span<const float> gradient,
                                 const CodecContext& context) const {
  CheckFinite(sum, context.unit);
  Selection selection;
  const auto numel = static_cast<int64_t>(sum.size());
  const int64_t bin = BinOf(numel);
  for (int64_t begin = 0; begin < numel; begin += bin) {
    const int64_t end = std::min(numel, begin + bin);
    const float largest = cpu::AbsMax(sum.subspan(begin, end - begin));
    if (largest == 0) continue;
    for (int64_t i = begin; i < end; ++i) {
      if (std::abs(sum[i] + gradient[i]) < largest) continue;
      selection.positions.push_back(static_cast<uint32_t>(i));
      selection.values.push_back(sum[i]);
    }
  }
  return selection;
}

}  // namespace

SparsifierRow AdaCompRow() {
  return {
      {.name = "adacomp",
       .help = "sends, in every bin of elements, those that would reach the bin's maximum if the "
               "same gradient came once more",
       .paper = "Chen et al., AdaComp: Adaptive Residual Gradient Compression for Data-Parallel "
                "Distributed Training, AAAI 2018",
       .options = {{"bins", "100", "1 to 4294967295", "number of bins per unit"},
                   {"bin", "0", "0 to 4294967295",
                    "elements per bin; 0: the unit is divided into the number that bins= gives"}}},
      [](const OptionReader& options) -> std::unique_ptr<Sparsifier> {
        return std::make_unique<AdaComp>(options.Integer("bins", 1, kMaxUnitElements),
                                         options.Integer("bin", 0, kMaxUnitElements));
      }};
}

}  // namespace legacy
