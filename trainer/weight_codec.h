// A weight codec says what workers gather of each other's weights in a sharded training
// (docs/sharding.md). It is written "CODEC" or "delta:CODEC", each with "@PARAMETER" where the
// codec takes one.
//
//   int:bits=8    every worker computes with C(x), where x are the weights; the owner keeps x, and
//                 so errors do not add up (ZeRO++'s quantised weights)
//   delta:int     y <- y + C(x - y), and every worker computes with y, which is x at first; what C
//                 leaves out is in the next difference (SDP4Bit, Jia et al., NeurIPS 2024)
//
// Owners encode the slices of a layer by themselves, which CutUnit cuts
// (compress/schemes/owners/owned_slices.h). In 16 bits x is rounded first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compress/codec.h"
#include "compress/schemes/owners/owned_slices.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// A WeightCodec has no state: what workers know of the weights is the caller's.
class WeightCodec {
 public:
  // Throws Error naming `key` on texts that name no codec, on codecs whose lengths depend on the
  // data, and without differences on those that leave out weights; with differences, on those that
  // are not contractive, as differences would grow.
  WeightCodec(const std::string& text, const Cut& cut, uint64_t seed, const std::string& key);

  const std::string& text() const { return text_; }
  // True where every worker keeps what it knows of all weights.
  bool SendsDifferences() const { return differences_; }
  // Sends the weights x of a layer in a step. `known` is what all workers know of them, before and
  // after. Throws Error naming the layer for values that do not fit.
  void Send(const Unit& layer, int64_t step, std::span<const float> weights,
            std::span<float> known) const;
  // Returns what travels for each layer.
  std::vector<WeightWork> WorkOf(std::span<const Unit> layers) const;

 private:
  CodecContext ContextOf(const Unit& slice, size_t number, int64_t step) const;

  std::string text_;
  bool differences_ = false;
  Cut cut_;
  uint64_t seed_;
  std::unique_ptr<const Codec> codec_;
  double parameter_ = 1;
};

}  // namespace legacy
