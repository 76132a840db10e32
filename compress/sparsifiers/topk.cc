// Top-K sends the k largest magnitudes, ties to the lower index. It is a contraction: ||x -
// C(x)||^2 <= (1 - k/n) ||x||^2. A second selection from that of a looser density equals the direct
// selection of the tighter one, bit for bit and ties included.
//
// rule=kth follows LEGACY's public code for CIFAR: it sends everything that reaches the ceil(n (1 -
// density))-th smallest magnitude. These are floor(n density) + 1 values, or more if that magnitude
// occurs more than once (all of a vector whose threshold is 0).
#include "compress/cpu/topk.h"

#include <algorithm>

#include "compress/checks.h"
#include "compress/cpu/histogram.h"
#include "compress/density.h"
#include "compress/sparsifier.h"
#include "compress/sparsifiers/cut.h"

namespace legacy {
namespace {

class TopK : public Sparsifier {
 public:
  explicit TopK(bool kth) : kth_(kth) {}
  std::string_view Name() const override { return "topk"; }
  CodecId Id() const override { return CodecId::kTopK; }
  const ParameterSpec& Parameter() const override { return DensityParameter(); }
  SparsifierTraits Traits() const override { return {.fixed_count = !kth_}; }
  std::optional<SparsifierSetting> Setting() const override {
    if (kth_) return std::nullopt;
    return SparsifierSetting{.kind = SparsifierKind::kTopK};
  }
  WorkList EncodeWork(int64_t numel, const CodecContext&) const override {
    WorkList work = TopKWork(numel);
    if (kth_) work.push_back({"threshold.encode", numel});
    return work;
  }
  WorkList SumWork(int64_t numel) const override {
    if (kth_) return Sparsifier::SumWork(numel);
    return {{"feedback", numel}, TopKSampleWork(numel)};
  }
  bool TakesOut(Feeding feeding) const override { return !kth_ && feeding == Feeding::kGradient; }
  WorkList ErrorWork(int64_t numel, std::span<const double>) const override {
    return {{"histogram", numel}};
  }
  Selection Select(std::span<const float> values, int64_t count,
                   const CodecContext& context) const override;
  Selection SelectWithFeedback(std::span<const float> gradient, std::span<float> residual,
                               int64_t count, const CodecContext& context) const override;
  // Computes all errors from one histogram, which reads 4 bytes per element, within 1 % of ||x||^2.
  std::vector<double> SquaredErrors(std::span<const float> values,
                                    std::span<const double> parameters,
                                    const CodecContext& context) const override;

 private:
  bool kth_;
};

// Returns the rank of the smallest magnitude that rule=kth selects.
int64_t RankOf(int64_t numel, int64_t count, double density) {
  const bool less_than_one = count == 1 && density * static_cast<double>(numel) < 1;
  return std::min(numel, less_than_one ? 1 : count + 1);
}

Selection TopK::Select(std::span<const float> values, int64_t count,
                       const CodecContext& context) const {
  if (!kth_ || values.empty()) return SelectLargest(values, count, context.unit);
  const int64_t rank = RankOf(static_cast<int64_t>(values.size()), count, context.parameter);
  const Selection largest = SelectLargest(values, rank, context.unit);
  return SelectAtLeast(values, SmallestMagnitude(largest), context.unit);
}

Selection TopK::SelectWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                   int64_t count, const CodecContext& context) const {
  if (kth_ || gradient.empty()) {
    return Sparsifier::SelectWithFeedback(gradient, residual, count, context);
  }
  Selection selection;
  cpu::TopKStats stats;
  selection.positions =
      cpu::CompensateAndSelect(gradient, residual, count, &selection.values, &stats);
  if (stats.non_finite) CheckFinite(residual, context.unit);
  return selection;
}

std::vector<double> TopK::SquaredErrors(std::span<const float> values,
                                        std::span<const double> parameters,
                                        const CodecContext& context) const {
  const auto curve = cpu::MagnitudeCurve::Of(values);
  if (curve.NonFinite() > 0) CheckFinite(values, context.unit);
  const auto numel = static_cast<int64_t>(values.size());
  std::vector<double> errors;
  for (const double density : parameters) {
    const int64_t count = KeptCount(numel, density);
    const double error = curve.Error(kth_ ? RankOf(numel, count, density) : count);
    errors.push_back(error * error);
  }
  return errors;
}

}  // namespace

SparsifierRow TopKRow() {
  return {{.name = "topk",
           .help = "sends the k largest magnitudes",
           .paper = "Aji and Heafield, Sparse Communication for Distributed Gradient Descent, "
                    "EMNLP 2017",
           .options =
               {{"rule", "count", "count, kth",
                 "count: send exactly k values; kth: send all that reach the (k+1)-th magnitude"}}},
          [](const OptionReader& options) -> std::unique_ptr<Sparsifier> {
            constexpr std::string_view kRules[] = {"count", "kth"};
            return std::make_unique<TopK>(options.Choice("rule", kRules) == 1);
          }};
}

}  // namespace legacy
