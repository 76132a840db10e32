// Units of whose chunks the largest cosine coefficients are sent, in fp32 (codecs/dct_codec.h).
#pragma once

#include <memory>
#include <vector>

#include "compress/codecs/dct_codec.h"
#include "compress/cuda/exchange/transform_group.h"

namespace legacy::cuda {

static_assert(DctCodec::kLargestValue == cpu::SpectrumPlan::kLargestValue);
static_assert(cpu::KeyOf(DctCodec::kLargestCoefficient) == DctBack<true>::kLargestKey);

template <class Device>
class DctGroup : public TransformGroup<Device, DctTable> {
 public:
  // `codecs` are those of the units. When Encode() is called, the residual must include the
  // gradient.
  DctGroup(Operations<Device>& on, Faults<Device>& faults,
           const std::vector<const DctCodec*>& codecs, const std::vector<GroupUnit>& units,
           int workers)
      : TransformGroup<Device, DctTable>(on, faults, DctTable(UnitsOf(codecs, units)), units,
                                         workers, [&](size_t u, const CodecContext& context) {
                                           return codecs[u]->HeaderOf(
                                               codecs[u]->GridOf(units[u].extent.length), context);
                                         }) {}

  void Begin(const RandomKey&) override {}
  void Encode(const SenderArrays& sender) override {
    std::byte* const out = this->MessagesOf(sender.slot);
    this->FindLargest(sender);
    this->on().EncodeDct(this->table(), sender.values(), out);
    if (!sender.residual) return;
    this->on().SubtractDct(this->table(), {.in = out, .out = sender.residual});
  }
  void Decode(int slots, float divisor, float* mean) override {
    this->on().DecodeDct(this->table(), {.in = this->MessagesOf(0),
                                         .stride = this->table()->stride(),
                                         .workers = slots,
                                         .divisor = divisor,
                                         .out = mean,
                                         .malformed = this->Malformed()});
  }
  int64_t Count(int unit, int) const override { return this->table()->units()[unit].all_kept(); }

 private:
  static std::vector<DctTable::Unit> UnitsOf(const std::vector<const DctCodec*>& codecs,
                                             const std::vector<GroupUnit>& units) {
    std::vector<DctTable::Unit> all;
    for (size_t u = 0; u < units.size(); ++u) {
      const cpu::ChunkGrid grid = codecs[u]->GridOf(units[u].extent.length);
      all.push_back({units[u].extent.offset, grid, codecs[u]->KeptOf(grid, units[u].parameter)});
    }
    return all;
  }
};

}  // namespace legacy::cuda
