// Plans, on the host, which units of a model are encoded in which form in a step of a codec.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compress/codecs/dct_codec.h"
#include "compress/codecs/eden_codec.h"
#include "compress/codecs/fft_codec.h"
#include "compress/codecs/quantiser_codec.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/cuda/exchange/message_group.h"
#include "compress/cuda/exchange/whole_group.h"
#include "compress/cuda/kernels/transforms/dct_table.h"
#include "compress/cuda/kernels/transforms/eden_table.h"
#include "compress/cuda/kernels/transforms/spectrum_table.h"
#include "compress/schemes/codec_exchange.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/schemes/codec_step.h"

namespace legacy::cuda {

// Units of one group, and their numbers in the model.
struct PlannedUnits {
  std::vector<int> numbers;
  std::vector<GroupUnit> units;
};

struct CodecPlan {
  std::vector<std::pair<WholeFormat, PlannedUnits>> whole;  // a group for each format
  PlannedUnits selected;  // selected by the sparsifier, or in the spectrum; or rotated
};

// Says why there are no kernels for the codec; empty if there are.
inline std::string LacksKernels(const Codec& codec, const CodecSchemeOptions& options) {
  const auto lacks = [](const std::string& what) { return what + " has no kernels"; };
  if (options.summing == Summing::kRequantise) return lacks("reduction=requantise");
  if (options.summing == Summing::kHops) return lacks("reduction=hop");
  if (options.memory.Averages()) return lacks("memory=loco");
  if (options.memory.Storing() != nullptr) return lacks("storage other than fp32");
  if (const auto* eden = dynamic_cast<const EdenCodec*>(&codec)) {
    if (eden->rotation() == EdenRotation::kOwn) return lacks("rotation=own");
    return EdenTable::LacksKernels(eden->block());
  }
  if (const auto* dct = dynamic_cast<const DctCodec*>(&codec)) {
    if (dct->quantiser().Type() != ValueType::kFloat32) return lacks(std::string(dct->Name()));
    return DctTable::LacksKernels(dct->chunk());
  }
  const Quantiser* quantiser = nullptr;
  if (const auto* alone = dynamic_cast<const QuantiserCodec*>(&codec)) {
    quantiser = &alone->quantiser();
  } else if (const auto* sparse = dynamic_cast<const SparseCodec*>(&codec)) {
    quantiser = &sparse->quantiser();
    const std::string name(sparse->sparsifier().Name());
    if (!sparse->sparsifier().Setting()) return lacks("sparsifier " + name + " with these options");
    if (sparse->index() == IndexCoding::kDelta) return lacks("index=delta");
  } else if (const auto* fft = dynamic_cast<const FftCodec*>(&codec)) {
    quantiser = &fft->quantiser();
    if (fft->index() == IndexCoding::kDelta) return lacks("index=delta");
    const std::string why = SpectrumTable::LacksKernels(fft->plan().chunk());
    if (!why.empty()) return why;
  } else {
    return lacks("codec " + std::string(codec.Name()));
  }
  const auto setting = quantiser->Setting(quantiser->Parameter().fallback);
  if (!setting) return lacks("quantiser " + std::string(quantiser->Name()) + " with these options");
  if (HopOrderOf(options.summing) && setting->bucket > kTile) {
    return lacks("a reduction that encodes sums at every hop, in buckets of more than " +
                 std::to_string(kTile) + " values,");
  }
  return {};
}

// Plans the steps of a codec that has kernels.
class CodecPlanner {
 public:
  CodecPlanner(const Codec& codec, MemoryOptions memory, Summing summing)
      : alone_(dynamic_cast<const QuantiserCodec*>(&codec)),
        sparse_(dynamic_cast<const SparseCodec*>(&codec)),
        fft_(dynamic_cast<const FftCodec*>(&codec)),
        eden_(dynamic_cast<const EdenCodec*>(&codec)),
        dct_(dynamic_cast<const DctCodec*>(&codec)),
        memory_(memory),
        hops_(HopOrderOf(summing)) {}

  const SparseCodec* sparse() const { return sparse_; }
  const FftCodec* fft() const { return fft_; }
  const EdenCodec* eden() const { return eden_; }
  const DctCodec* dct() const { return dct_; }
  const Quantiser& quantiser() const {
    if (fft_) return fft_->quantiser();
    return sparse_ ? sparse_->quantiser() : alone_->quantiser();
  }
  // Returns the quantiser's setting for selected values.
  QuantiserSetting Selected() const {
    return *quantiser().Setting(quantiser().Parameter().fallback);
  }

  // `whole` marks units that are sent uncompressed.
  CodecPlan Plan(const std::vector<Unit>& units, const std::vector<bool>& whole,
                 std::span<const double> parameters) const {
    CodecPlan plan;
    for (size_t u = 0; u < units.size(); ++u) {
      const int64_t numel = units[u].numel;
      const double parameter = parameters[u];
      const bool keeps = MemoryOf(memory_, whole[u]).kind != MemoryKind::kNone;
      const auto count = whole[u] ? numel : Count(numel, parameter);
      GroupUnit unit = {units[u].id, {units[u].offset, numel}, count, parameter};
      if (whole[u]) {
        Add(plan, {.keeps = keeps}, static_cast<int>(u), unit);
      } else if (alone_ != nullptr) {
        Add(plan,
            {CodecId::kDense, quantiser().Type(), *quantiser().Setting(parameter), keeps, hops_},
            static_cast<int>(u), unit);
      } else if (sparse_ != nullptr && count == numel &&
                 sparse_->sparsifier().Traits().fixed_count) {
        Add(plan, {sparse_->sparsifier().Id(), quantiser().Type(), Selected(), keeps},
            static_cast<int>(u), unit);
      } else {
        plan.selected.numbers.push_back(static_cast<int>(u));
        plan.selected.units.push_back(unit);
      }
    }
    return plan;
  }

 private:
  int64_t Count(int64_t numel, double parameter) const {
    if (fft_) return KeptBins(fft_->plan().Bins(numel), parameter);
    if (alone_ || eden_ || dct_) return numel;
    const int64_t count = sparse_->Count(numel, parameter);
    return sparse_->sparsifier().Traits().fixed_count && sparse_->SendsAll(numel, count) ? numel
                                                                                         : count;
  }
  static void Add(CodecPlan& plan, const WholeFormat& format, int number, const GroupUnit& unit) {
    auto group =
        std::ranges::find(plan.whole, format, &std::pair<WholeFormat, PlannedUnits>::first);
    if (group == plan.whole.end()) group = plan.whole.insert(group, {format, {}});
    group->second.numbers.push_back(number);
    group->second.units.push_back(unit);
  }

  const QuantiserCodec* alone_;  // or:
  const SparseCodec* sparse_;    // or:
  const FftCodec* fft_;          // or:
  const EdenCodec* eden_;        // or:
  const DctCodec* dct_;
  MemoryOptions memory_;
  std::optional<HopOrder> hops_;
};

}  // namespace legacy::cuda
