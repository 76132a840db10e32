#include "compress/schemes/levels.h"

#include "compress/cpu/vector.h"
#include "compress/error.h"
#include "compress/number.h"
#include "compress/sparsifiers/cut.h"

namespace legacy {
void Levels::Begin(std::span<const double> candidates) {
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

bool Levels::SendsAll(size_t candidate) const {
  if (codec_.Parameter().volume_falls) return false;  // what a threshold keeps depends on the data
  return codec_.SendsAll(numel_, codec_.Count(numel_, candidates_[candidate]));
}

Probe Levels::Measure(int worker, std::span<const float> values, const CodecContext& context,
                      bool whole) {
  const Sparsifier& sparsifier = codec_.sparsifier();
  Probe probe{.squared = cpu::SquaredNorm(values), .kept = {}};
  std::vector<Selection>& selections = selections_[worker];
  selections.assign(candidates_.size(), {});
  const Selection* looser = nullptr;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (whole || SendsAll(i)) {
      probe.kept.push_back(probe.squared);
      continue;
    }
    CodecContext own = context;
    own.parameter = candidates_[i];
    own.state = nullptr;  // of one parameter, and of whole units
    const int64_t count = codec_.Count(numel_, candidates_[i]);
    selections[i] = looser == nullptr || sparsifier.SharedSupport()
                        ? sparsifier.Select(values, count, own)
                        : Within(*looser, sparsifier.Select(looser->values, count, own));
    looser = &selections[i];
    probe.kept.push_back(cpu::SquaredNorm(selections[i].values));
  }
  return probe;
}

}  // namespace legacy
