// AR-Topk: Top-K made summable. In the first round one worker, chosen in turn (root = step mod N, of those who take part),
// broadcasts the positions of its largest error-fed gradients; in the second every worker's values
// at those positions are all-reduced. The volume at one worker does not grow with N, as it does
// when Top-K messages are gathered. Tyagi and Swany, "Flexible communication for optimal
// distributed learning over unpredictable networks" (2023).
#pragma once

#include <optional>

#include "compress/exchange.h"

namespace legacy {

class ArTopKScheme : public Scheme {
 public:
  // `index`: forced coding of the positions; default: shortest fixed-length one.
  ArTopKScheme(std::optional<IndexCoding> index, bool error_feedback)
      : index_(index), error_feedback_(error_feedback) {}
  std::string_view Name() const override { return "ar-topk"; }
  const ParameterSpec& Parameter() const override;
  int64_t ElementsSent(const Unit& unit, double density) const override;
  // Of the worker that broadcasts: positions and values.
  std::optional<int64_t> MessageBytes(const Unit& unit, double density) const override;
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override;
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override;

 private:
  std::optional<IndexCoding> index_;
  bool error_feedback_;
};

}  // namespace legacy
