// Candidates are those of multi-level compression (Tyagi and Swany, GraVAC, IEEE CLOUD 2023,
// section III): a unit is compressed at several candidates of one parameter, the loosest first;
// each next one is selected from what the one before kept. Counts come from the whole unit, so that
// Top-K at any candidate keeps what it would keep directly (ties aside: of equal magnitudes both
// keep the lower positions). Supports that all workers draw (Random-K) are drawn from the whole
// unit for each candidate, as the receivers draw them.
#pragma once

#include <vector>

#include "compress/codecs/sparse_codec.h"
#include "compress/exchange.h"

namespace legacy {

// Candidates holds the selections of all workers, for one unit and step. Measure and At may run
// concurrently for different workers.
class Candidates {
 public:
  // `codec` outlives this.
  Candidates(const SparseCodec& codec, int64_t numel, int workers)
      : codec_(codec), numel_(numel), selections_(workers) {}

  // Starts a step. Throws Error where candidates are out of range or not loosest first. `estimate`:
  // Measure selects nothing, and takes energies from Sparsifier::SquaredErrors.
  void Begin(std::span<const double> candidates, bool estimate);
  // True where the candidate's message is all of the unit.
  bool SendsAll(size_t candidate) const;
  // Measures what each candidate keeps of `values`, the worker's e. `whole`: all of it is sent
  // whatever the candidate.
  Probe Measure(int worker, std::span<const float> values, const CodecContext& context, bool whole);
  // Returns the candidate's selection of what Measure was given. It is selected now where Measure
  // estimated.
  const Selection& At(int worker, size_t candidate, std::span<const float> values,
                      const CodecContext& context);

 private:
  const SparseCodec& codec_;
  int64_t numel_;
  Selection Select(size_t candidate, std::span<const float> values, CodecContext context) const;

  std::vector<double> candidates_;
  bool estimate_ = false;
  std::vector<std::vector<Selection>> selections_;  // [worker][candidate]; empty where all is sent
};

}  // namespace legacy
