#include "compress/sparsifier.h"

#include <cassert>

#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"

namespace legacy {

void CheckSelection(const Sparsifier& sparsifier, const Selection& selection, int64_t numel,
                    std::optional<int64_t> count) {
  if (sparsifier.plugin().empty()) return;
  const auto& positions = selection.positions;
  if (positions.size() != selection.values.size()) {
    BlamePlugin(sparsifier, "selected " + std::to_string(positions.size()) + " positions and " +
                                std::to_string(selection.values.size()) + " values");
  }
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] < numel && (i == 0 || positions[i] > positions[i - 1])) continue;
    BlamePlugin(sparsifier, "selected position " + std::to_string(positions[i]) + " of " +
                                std::to_string(numel) +
                                " elements; positions ascend strictly and lie below that");
  }
  if (count && std::ssize(positions) != *count) {
    BlamePlugin(sparsifier, "selected " + std::to_string(positions.size()) + " values, said " +
                                std::to_string(*count) + " (fixed_count)");
  }
}

Selection Sparsifier::SelectWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                         int64_t count, const CodecContext& context) const {
  if (!gradient.empty()) cpu::Add(gradient, residual);
  Selection selection = Select(residual, count, context);
  CheckSelection(*this, selection, std::ssize(residual), std::nullopt);
  cpu::ClearAt(residual, selection.positions);
  return selection;
}

std::vector<uint32_t> Sparsifier::Support(int64_t, int64_t, const CodecContext&) const {
  assert(false);  // only called if positions are shared
  return {};
}

WorkList Sparsifier::EncodeWork(int64_t numel, const CodecContext&) const {
  return {{std::string(Name()) + ".encode", numel}};
}

WorkList Sparsifier::ErrorWork(int64_t numel, std::span<const double> parameters) const {
  WorkList work = {{"norm", numel}};
  // Bytes of a position and a value, written and read.
  constexpr int64_t kListed = 16;
  const bool density = Parameter().Kind() == ParameterKind::kDensity;
  for (const double parameter : parameters) {
    AddWork(EncodeWork(numel, {.parameter = parameter, .random = {}}), work);
    if (density) AddWork(Moved(kListed * KeptCount(numel, parameter)), work);
  }
  return work;
}

std::vector<double> Sparsifier::SquaredErrors(std::span<const float> values,
                                              std::span<const double> parameters,
                                              const CodecContext& context) const {
  const double total = cpu::SquaredNorm(values);
  std::vector<double> errors;
  for (const double parameter : parameters) {
    CodecContext own = context;
    own.parameter = parameter;
    const int64_t count = KeptCount(static_cast<int64_t>(values.size()), parameter);
    double error = total;
    const Selection selection = Select(values, count, own);
    for (const float x : selection.values) error -= double{x} * x;
    errors.push_back(error > 0 ? error : 0);
  }
  return errors;
}

}  // namespace legacy
