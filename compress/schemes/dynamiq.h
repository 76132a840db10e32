// DynamiQ (SIGCOMM 2026): an all-reduce whose hops encode partial sums again (hop_sum.h), with the
// bits where the energy is.
//
//   call 1   mean and sum of squares of each super-group of 256 values, as bf16, summed over the
//            workers                                                     20 + 4 S bytes a worker
//   bits     2, 4 or 8 for each super-group by its energy, within the budget (dynamiq_code.h)
//   call 2   values less the mean of their super-group, super-groups in the order of their bits,
//            by hops: pieces are whole super-groups of 32 q + 18 bytes
//   result   sum / N and the mean again
//
// A position is rounded once by each of N workers on its way. Worker i draws (pi(i) + gamma) / N
// for it, where pi is a permutation that all share and gamma is its own: the draws of the workers
// are one from each N-th of [0, 1), so that their errors cancel. There are no residuals.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compress/exchange.h"
#include "compress/message.h"
#include "compress/schemes/hops/dynamiq_hops.h"
#include "compress/schemes/hops/hop_sum.h"

namespace legacy {

struct DynamiqOptions {
  HopOrder order = HopOrder::kRing;
  dynamiq::Rounding rounding = dynamiq::Rounding::kValue;
  int64_t slice = 8 << 20;
};

// Returns the header of a message of statistics, or of values.
ExtendedHeader DynamiqHeader(const Unit& unit, bool statistics);
// Return the calls of a step: that of statistics, and that of values in the layout.
CollectiveCall DynamiqStatisticsCall(int64_t numel);
CollectiveCall DynamiqValuesCall(const DynamiqOptions& options, const dynamiq::Layout& layout,
                                 int64_t numel, int workers);

class DynamiqScheme : public Scheme {
 public:
  explicit DynamiqScheme(const DynamiqOptions& options) : options_(options) {}
  std::string_view Name() const override { return "dynamiq"; }
  const DynamiqOptions& options() const { return options_; }
  const ParameterSpec& Parameter() const override;
  bool UsesErrorFeedback(double) const override { return false; }
  int64_t ElementsSent(const Unit& unit, double) const override { return unit.numel; }
  std::optional<int64_t> MessageBytes(const Unit&, double) const override { return std::nullopt; }
  std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double bits,
                                                        int active_workers,
                                                        const LinkEstimate&) const override;
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override;
  WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const override;
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override;

 private:
  DynamiqOptions options_;
};

}  // namespace legacy
