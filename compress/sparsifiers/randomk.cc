// Random-K: k elements drawn without replacement from (seed, step, unit), the same at every worker. Plain, it is a
// contraction; unbiased, values are multiplied by n / k, so that the expectation is the input and the error up to
// (n/k - 1) ||x||^2.
#include "compress/codecs/common.h"
#include "compress/cpu/random_subset.h"
#include "compress/error.h"
#include "compress/sparsifiers/sparsifiers.h"

namespace legacy {
namespace {

class RandomK : public Sparsifier {
 public:
  explicit RandomK(bool unbiased) : unbiased_(unbiased) {}
  std::string_view Name() const override { return "randomk"; }
  const ParameterSpec& Parameter() const override { return DensityParameter(); }
  bool SharedSupport() const override { return true; }
  bool AllowsErrorFeedback() const override { return !unbiased_; }
  Work EncodeWork(int64_t numel, double density) const override {
    return {"randomk.encode", KeptCount(numel, density), 1};
  }
  Selection Select(std::span<const float> values, int64_t count,
                   const CodecContext& context) const override {
    CheckFinite(values, context.unit);
    const auto numel = static_cast<int64_t>(values.size());
    Selection selection{.positions = Support(numel, count, context), .values = {}};
    const float scale =
        unbiased_ && count > 0 ? static_cast<float>(numel) / static_cast<float>(count) : 1.0f;
    for (const uint32_t i : selection.positions) selection.values.push_back(values[i] * scale);
    CheckFinite(selection.values, context.unit);  // scaling may overflow
    return selection;
  }
  std::vector<uint32_t> Support(int64_t numel, int64_t count,
                                const CodecContext& context) const override {
    RandomKey key = context.random;
    key.worker = 0;
    key.layer = context.unit;
    key.purpose = Purpose::kRandomK;
    return cpu::RandomSubset(RandomStream(key), numel, count);
  }

 private:
  bool unbiased_;
};

}  // namespace

SparsifierRow RandomKRow() {
  return {{.name = "randomk",
           .help = "elements drawn from a seed that all workers share: no positions travel",
           .paper = "Stich et al., Sparsified SGD with Memory, NeurIPS 2018",
           .options = {{"unbiased", "off", "on, off", "multiply values by n / k"}}},
          [](const OptionReader& options) -> std::unique_ptr<Sparsifier> {
            return std::make_unique<RandomK>(options.Switch("unbiased"));
          }};
}

}  // namespace legacy
