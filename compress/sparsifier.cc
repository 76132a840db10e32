#include "compress/sparsifier.h"

#include <cassert>

#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"

namespace legacy {

Selection Sparsifier::SelectWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                         int64_t count, const CodecContext& context) const {
  if (!gradient.empty()) cpu::Add(gradient, residual);
  Selection selection = Select(residual, count, context);
  cpu::ClearAt(residual, selection.positions);
  return selection;
}

std::vector<uint32_t> Sparsifier::Support(int64_t, int64_t, const CodecContext&) const {
  assert(false);  // only where positions are shared
  return {};
}

WorkList Sparsifier::EncodeWork(int64_t numel, const CodecContext&) const {
  return {{std::string(Name()) + ".encode", numel}};
}

WorkList Sparsifier::ErrorWork(int64_t numel, std::span<const double> parameters) const {
  WorkList work = {{"norm", numel}};
  constexpr int64_t kListed = 16;  // bytes of a position and a value, written and read
  const bool density = Parameter().name == DensityParameter().name;
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
