// Top-K: the k largest magnitudes, ties to the lower index. Contraction: ||x - C(x)||^2 <= (1 - k/n) ||x||^2.
#include "compress/cpu/topk.h"

#include "compress/codecs/common.h"
#include "compress/sparsifiers/sparsifiers.h"

namespace legacy {
namespace {

class TopK : public Sparsifier {
 public:
  std::string_view Name() const override { return "topk"; }
  const ParameterSpec& Parameter() const override { return DensityParameter(); }
  Work EncodeWork(int64_t numel, double) const override { return {"topk.encode", numel, 1}; }
  Selection Select(std::span<const float> values, int64_t count,
                   const CodecContext& context) const override {
    CheckFinite(values, context.unit);
    Selection selection;
    selection.positions = cpu::SelectTopK(values, count);
    selection.values.reserve(selection.positions.size());
    for (const uint32_t i : selection.positions) selection.values.push_back(values[i]);
    return selection;
  }
};

}  // namespace

SparsifierRow TopKRow() {
  return {
      {.name = "topk",
       .help = "the largest magnitudes",
       .paper = "Aji and Heafield, Sparse Communication for Distributed Gradient Descent, "
                "EMNLP 2017"},
      [](const OptionReader&) -> std::unique_ptr<Sparsifier> { return std::make_unique<TopK>(); }};
}

}  // namespace legacy
