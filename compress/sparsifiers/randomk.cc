// Random-K sends k elements drawn without replacement from (seed, step, unit), the same at every
// worker. Without `unbiased` it is a contraction. With it, values are multiplied by n / k, so that
// the expectation is the input and the error up to (n/k - 1) ||x||^2. With seed=worker, every
// worker draws its own elements; positions are then sent, and messages cannot be summed.
#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/random_subset.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/sparsifier.h"

namespace legacy {
namespace {

class RandomK : public Sparsifier {
 public:
  RandomK(bool unbiased, bool shared) : unbiased_(unbiased), shared_(shared) {}
  std::string_view Name() const override { return "randomk"; }
  CodecId Id() const override { return CodecId::kRandomK; }
  const ParameterSpec& Parameter() const override { return DensityParameter(); }
  SparsifierTraits Traits() const override {
    return {.shared_support = shared_, .allows_error_feedback = !unbiased_};
  }
  std::optional<SparsifierSetting> Setting() const override {
    return SparsifierSetting{.kind = SparsifierKind::kRandomK, .unbiased = unbiased_};
  }
  WorkList EncodeWork(int64_t numel, const CodecContext& context) const override {
    return {{"randomk.draw", numel}, {"randomk.encode", KeptCount(numel, context.parameter)}};
  }
  bool TakesOut(Feeding) const override { return true; }
  WorkList ErrorWork(int64_t numel, std::span<const double>) const override {
    return {{"norm", numel}};
  }
  Selection Select(std::span<const float> values, int64_t count,
                   const CodecContext& context) const override {
    CheckFinite(values, context.unit);
    const auto numel = static_cast<int64_t>(values.size());
    Selection selection{.positions = Support(numel, count, context), .values = {}};
    const float scale =
        unbiased_ && count > 0 ? static_cast<float>(numel) / static_cast<float>(count) : 1.0f;
    selection.values.reserve(selection.positions.size());
    for (const uint32_t i : selection.positions) selection.values.push_back(values[i] * scale);
    CheckFinite(selection.values, context.unit);  // scaling may overflow
    return selection;
  }
  std::vector<uint32_t> Support(int64_t numel, int64_t count,
                                const CodecContext& context) const override {
    RandomKey key = context.random;
    if (shared_) key.worker = 0;
    key.layer = context.unit;
    key.purpose = Purpose::kRandomK;
    return cpu::RandomSubset(RandomStream(key), numel, count);
  }
  // Returns the expectation over the draws.
  std::vector<double> SquaredErrors(std::span<const float> values,
                                    std::span<const double> parameters,
                                    const CodecContext&) const override {
    const double total = cpu::SquaredNorm(values);
    const auto numel = static_cast<double>(values.size());
    std::vector<double> errors;
    for (const double density : parameters) {
      const int64_t count = KeptCount(static_cast<int64_t>(values.size()), density);
      const double kept = count > 0 ? static_cast<double>(count) / numel : 1;
      errors.push_back(total * (unbiased_ ? 1 / kept - 1 : 1 - kept));
    }
    return errors;
  }

 private:
  bool unbiased_;
  bool shared_;
};

}  // namespace

SparsifierRow RandomKRow() {
  return {
      {.name = "randomk",
       .help =
           "sends randomly chosen elements; where workers share the seed, no positions are sent",
       .paper = "Stich et al., Sparsified SGD with Memory, NeurIPS 2018",
       .options =
           {{"unbiased", "off", "on, off",
             "multiply the values by n / k, which makes the result unbiased"},
            {"seed", "shared", "shared, worker",
             "shared: all workers choose the same elements; worker: each worker chooses its own"}}},
      [](const OptionReader& options) -> std::unique_ptr<Sparsifier> {
        constexpr std::string_view kSeeds[] = {"shared", "worker"};
        return std::make_unique<RandomK>(options.Switch("unbiased"),
                                         options.Choice("seed", kSeeds) == 0);
      }};
}

}  // namespace legacy
