// A sparsifier that keeps whole blocks of 64 elements, those of the most energy: the example of
// docs/compressors.md.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "compress/checks.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/sparsifier.h"

namespace legacy::example {

class BlockSparsifier : public Sparsifier {
 public:
  std::string_view Name() const override { return "blocks"; }
  CodecId Id() const override { return CodecId::kUser; }
  const ParameterSpec& Parameter() const override { return DensityParameter(); }
  // Whole blocks: a few more elements than asked for where the last block is short.
  SparsifierTraits Traits() const override { return {.fixed_count = false}; }
  WorkList EncodeWork(int64_t numel, const CodecContext&) const override {
    return {{"threshold.encode", numel, 1}};
  }

  Selection Select(std::span<const float> values, int64_t count,
                   const CodecContext& context) const override {
    CheckFinite(values, context.unit);
    const size_t blocks = (values.size() + kBlock - 1) / kBlock;
    const auto block = [&](size_t b) {
      return values.subspan(b * kBlock, std::min(kBlock, values.size() - b * kBlock));
    };
    std::vector<double> energy(blocks);
    for (size_t b = 0; b < blocks; ++b) energy[b] = cpu::SquaredNorm(block(b));
    std::vector<size_t> order(blocks);
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return energy[a] > energy[b]; });
    order.resize(std::min(blocks, (static_cast<size_t>(count) + kBlock - 1) / kBlock));
    std::ranges::sort(order);  // positions ascend

    Selection selection;
    for (const size_t b : order) {
      for (size_t i = 0; i < block(b).size(); ++i) {
        selection.positions.push_back(static_cast<uint32_t>(b * kBlock + i));
        selection.values.push_back(block(b)[i]);
      }
    }
    return selection;
  }

 private:
  static constexpr size_t kBlock = 64;
};

}  // namespace legacy::example
