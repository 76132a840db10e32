// PowerSGD (Vogels et al., NeurIPS 2019) sends a gradient matrix as a product of two thin ones, by
// one step of subspace iteration from the last step's result. A unit is a matrix n x m, its first
// dimension by the rest; e_i = g_i + r_i, and M_i is e_i as a matrix.
//
//   call 1   P = mean of M_i Q      16 + 4 r n bytes per worker, all-reduced, then orthonormalised
//   call 2   Q = mean of M_i^T P    16 + 4 r m bytes per worker, all-reduced
//   result   P Q^T;  r_i = M_i - P Q^T, with the mean's P and Q, not the worker's own
//
// Vectors, and matrices that fail r (n + m) min_rate < n m, are sent whole, by all-reduce, without
// residual. The first Q is drawn from N(0, 1) by the seed that all workers share; later ones are
// the last step's (warm start). If the rank falls, Q's last vectors are dropped. If it rises, the
// missing vectors are drawn, as are those that became zero (a matrix of less rank). Residuals last
// through changes of the rank.
//
// The mean depends on the gradients' mean alone, up to rounding. It is deterministic.
#pragma once

#include "compress/exchange.h"
#include "compress/schemes/matrices/low_rank.h"
#include "compress/schemes/memory.h"

namespace legacy {

// Options of the scheme.
struct PowerSgdOptions {
  double min_rate = 2;  // least compression ratio; 0: every matrix is compressed
  bool warm_start = true;
  bool error_feedback = true;
  double residual_decay = 1;
};

// Makes exchanges that all-reduce both factors.
class PowerSgdScheme : public Scheme {
 public:
  explicit PowerSgdScheme(const PowerSgdOptions& options) : options_(options) {}
  const PowerSgdOptions& options() const { return options_; }
  std::string_view Name() const override { return "powersgd"; }
  // Returns the specification of the rank.
  const ParameterSpec& Parameter() const override;
  SchemeTraits Traits() const override { return {.residual_decay = options_.residual_decay}; }
  int64_t ElementsSent(const Unit& unit, double rank) const override;
  std::optional<int64_t> MessageBytes(const Unit& unit, double rank) const override;
  bool Compresses(const Unit& unit, double rank) const override;
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> ranks,
                                    const RandomKey& random) const override;
  WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const override;
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override;

  // Returns what workers keep of the unit.
  MemoryOptions MemoryOf(const Unit& unit) const {
    return {.kind = KeepsResidual(unit) ? MemoryKind::kResidual : MemoryKind::kNone,
            .decay = static_cast<float>(options_.residual_decay)};
  }
  // Returns the number of vectors in each factor of the unit; 0 if it is sent whole.
  int64_t Vectors(const Unit& unit, double rank) const;
  // Returns true if the unit has a residual.
  bool KeepsResidual(const Unit& unit) const {
    return options_.error_feedback && unit.shape.size() > 1;
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double rank,
                                               int active_workers) const override;
  // Returns the calls of a step.
  std::vector<CollectiveCall> Calls(const Unit& unit, double rank) const;

 private:
  PowerSgdOptions options_;
};

// Returns a unit's matrix; a unit of one dimension is a single row.
MatrixShape MatrixOf(const Unit& unit);

// Returns the work of `count` products that read or write a matrix of `numel` elements: their
// multiply-adds, and the memory traffic that these do not hide.
WorkList ProductWork(const Work& products, int64_t numel, int64_t count);

inline constexpr int64_t kLargestRank = 64;

// Returns the header of a message with a factor of `values` floats.
Header FactorHeader(const Unit& unit, CodecId factor, int64_t values);

}  // namespace legacy
