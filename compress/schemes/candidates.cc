#include "compress/schemes/candidates.h"

#include <algorithm>

#include "base/error.h"
#include "base/number.h"
#include "compress/cpu/vector.h"
#include "compress/sparsifiers/cut.h"

namespace legacy {
void Candidates::Begin(std::span<const double> candidates, bool estimate) {
  estimate_ = estimate;
  const ParameterSpec& spec = codec_.Parameter();
  candidates_.assign(candidates.begin(), candidates.end());
  for (size_t i = 0; i < candidates_.size(); ++i) {
    CheckParameter(spec, candidates_[i]);
    if (i == 0) continue;
    const bool rises = candidates_[i] > candidates_[i - 1];
    if (candidates_[i] != candidates_[i - 1] && rises != spec.volume_falls) {
      throw Error(spec.name + " after " + FormatNumber(candidates_[i - 1]),
                  FormatNumber(candidates_[i]), "candidates in order, the loosest first");
    }
  }
}

bool Candidates::SendsAll(size_t candidate) const {
  // The number that a threshold selects depends on the data.
  if (codec_.Parameter().volume_falls) return false;
  return codec_.SendsAll(numel_, codec_.Count(numel_, candidates_[candidate]));
}

Selection Candidates::Select(size_t candidate, std::span<const float> values,
                             CodecContext context) const {
  context.parameter = candidates_[candidate];
  // The state belongs to one parameter, and to whole units.
  context.state = nullptr;
  return codec_.sparsifier().Select(values, codec_.Count(numel_, candidates_[candidate]), context);
}

Probe Candidates::Measure(int worker, std::span<const float> values, const CodecContext& context,
                          bool whole) {
  const Sparsifier& sparsifier = codec_.sparsifier();
  Probe probe{.squared = cpu::SquaredNorm(values), .kept = {}};
  std::vector<double> errors;
  if (estimate_ && !whole) errors = sparsifier.SquaredErrors(values, candidates_, context);
  std::vector<Selection>& selections = selections_[worker];
  selections.assign(candidates_.size(), {});
  const Selection* looser = nullptr;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (whole || SendsAll(i)) {
      probe.kept.push_back(probe.squared);
    } else if (estimate_) {
      probe.kept.push_back(std::max(0.0, probe.squared - errors[i]));
    } else {
      const bool nested = looser != nullptr && !sparsifier.Traits().shared_support;
      selections[i] =
          nested ? Within(*looser, Select(i, looser->values, context)) : Select(i, values, context);
      looser = &selections[i];
      probe.kept.push_back(cpu::SquaredNorm(selections[i].values));
    }
  }
  return probe;
}

const Selection& Candidates::At(int worker, size_t candidate, std::span<const float> values,
                                const CodecContext& context) {
  Selection& selection = selections_[worker][candidate];
  if (estimate_) selection = Select(candidate, values, context);
  return selection;
}

}  // namespace legacy
