// ARC-Top-K makes Top-K summable: all workers send the same rows of a gradient matrix, those whose
// mean sketch is largest. "ARC-Top-K", all-reduce compatible Top-K (2025), with EF14, EF21 or
// EF21M. A unit is a matrix m x n, its first dimension by the rest; e_i = g_i + r_i, and V (n x
// rank) has normal draws, new in each step, which all workers share.
//
//   call 1   P = mean of e_i V                            20 + 4 m rank bytes, all-reduced
//            rows = the k = max(1, floor(density m)) rows of P with the largest norms; ties: lower
//            row
//   call 2   the rows of the mean of e_i                  20 + 4 k n bytes, all-reduced
//   result   these rows, and 0 elsewhere;  r_i = e_i without the rows
//
// Vectors are sent whole, by all-reduce, without residual; so are matrices whose two calls have no
// fewer values than the matrix, with what the residual holds. The authors' code sends whole vectors
// as their own sketches, and selects from them in a second call: more than all values.
//
// Exact norms make E||e - C(e)||^2 <= (1 - k / m) ||e||^2; the norms of a sketch are estimates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compress/density.h"
#include "compress/exchange.h"
#include "compress/message.h"
#include "compress/schemes/matrices/powersgd.h"
#include "compress/schemes/memory.h"

namespace legacy {

// Returns the `count` rows of a matrix of rank `vectors.size() / rows` with the largest norms,
// ascending; of equal norms the lower rows. The vectors are the matrix's columns, one after the
// other.
std::vector<uint32_t> LargestRows(std::span<const float> vectors, int64_t rows, int64_t count);

struct ArcOptions {
  int64_t rank = 4;
  bool error_feedback = true;
  double residual_decay = 1;
};

// An ArcStep has what both the scheme and its exchanges know of a unit in a step.
struct ArcStep {
  const ArcOptions& options;
  const Unit& unit;
  double density = 1;

  MatrixShape Shape() const { return MatrixOf(unit); }
  int64_t Rows() const { return KeptCount(Shape().rows, density); }
  int64_t SketchValues() const { return Shape().rows * options.rank; }
  int64_t RowValues() const { return Rows() * Shape().columns; }
  bool IsMatrix() const { return unit.shape.size() > 1 && unit.numel > 0; }
  bool Compresses() const { return IsMatrix() && SketchValues() + RowValues() < unit.numel; }
  MemoryOptions Memory() const {
    return {
        .kind = options.error_feedback && IsMatrix() ? MemoryKind::kResidual : MemoryKind::kNone,
        .decay = static_cast<float>(options.residual_decay)};
  }
  std::vector<PlannedCall> Calls() const;
  // Returns the header of a message of the sketch, or of rows.
  ExtendedHeader Header(bool sketch) const;
  // Returns V, one vector after the other.
  std::vector<float> Draws(const RandomKey& key) const;
  // Returns the sketch e V. V is drawn by `key`.
  std::vector<float> Sketch(std::span<const float> e, const RandomKey& key) const;
  // Returns the work of a sketch of e: V is drawn and written.
  WorkList SketchWork() const;
};

class ArcScheme : public Scheme {
 public:
  explicit ArcScheme(const ArcOptions& options) : options_(options) {}
  std::string_view Name() const override { return "arc"; }
  const ParameterSpec& Parameter() const override;
  SchemeTraits Traits() const override { return {.residual_decay = options_.residual_decay}; }
  int64_t ElementsSent(const Unit& unit, double density) const override {
    const ArcStep step{options_, unit, density};
    return step.Compresses() ? step.SketchValues() + step.RowValues() : unit.numel;
  }
  std::optional<int64_t> MessageBytes(const Unit& unit, double density) const override {
    int64_t bytes = 0;
    for (const PlannedCall& call : ArcStep{options_, unit, density}.Calls()) bytes += call.bytes;
    return bytes;
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double density,
                                               int) const override {
    CheckParameter(DensityParameter(), density);
    return ArcStep{options_, unit, density}.Calls();
  }
  bool Compresses(const Unit& unit, double density) const override {
    return ArcStep{options_, unit, density}.Compresses();
  }
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> densities,
                                    const RandomKey& random) const override;
  WorkList ErrorWork(const Unit& unit, std::span<const double> densities) const override;
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override;
  const ArcOptions& options() const { return options_; }

 private:
  ArcOptions options_;
};

}  // namespace legacy
