// In multi-level compression (Tyagi and Swany, GraVAC, IEEE CLOUD 2023, section III), a unit is
// compressed at several candidates of one parameter, the loosest first; each next selection is made
// from the previous one. Counts come from the whole unit, so that Top-K at any candidate selects
// the same elements as directly; of equal magnitudes both select the lower positions. Supports that
// all workers draw (Random-K) are drawn from the whole unit for each candidate, as the receivers
// draw them.
#pragma once

#include <vector>

#include "compress/codecs/sparse_codec.h"
#include "compress/exchange.h"

namespace legacy {

// Holds the selections of all workers, for one unit and step. Measure and At may run concurrently
// for different workers.
class Candidates {
 public:
  // `codec` must outlive this object.
  Candidates(const SparseCodec& codec, int64_t numel, int workers)
      : codec_(codec), numel_(numel), selections_(workers) {}

  // Starts a step. Throws Error if candidates are out of range or not loosest first. With
  // `estimate`, Measure selects nothing, and takes energies from Sparsifier::SquaredErrors.
  void Begin(std::span<const double> candidates, bool estimate);
  // Returns true if the candidate's message is the whole unit.
  bool SendsAll(size_t candidate) const;
  // Measures the energy that each candidate keeps of `values`, the worker's e. `whole` says that
  // the unit is sent whole for every candidate.
  Probe Measure(int worker, std::span<const float> values, const CodecContext& context, bool whole);
  // Returns the candidate's selection from the values that Measure was given. If Measure only
  // estimated, it selects now.
  const Selection& At(int worker, size_t candidate, std::span<const float> values,
                      const CodecContext& context);

 private:
  const SparseCodec& codec_;
  int64_t numel_;
  Selection Select(size_t candidate, std::span<const float> values, CodecContext context) const;

  std::vector<double> candidates_;
  bool estimate_ = false;
  std::vector<std::vector<Selection>> selections_;  // [worker][candidate]; empty if all is sent
};

}  // namespace legacy
