// Sparsifier: which elements of a unit travel. Stateless and thread safe; what a method carries
// from step to step (RedSync's thresholds, SIDCo's stages) is in CodecContext::state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compress/codec.h"
#include "compress/kernel_setting.h"
#include "compress/options.h"

namespace legacy {

// What is sent: strictly ascending positions, and the value at each.
struct Selection {
  std::vector<uint32_t> positions;
  std::vector<float> values;
};

class Sparsifier : public Pluggable {
 public:
  virtual ~Sparsifier() = default;
  virtual std::string_view Name() const = 0;
  virtual CodecId Id() const = 0;                      // how the header names it
  virtual const ParameterSpec& Parameter() const = 0;  // density or threshold

  // True where exactly `count` elements are always selected, so that a message's length is known
  // beforehand.
  virtual bool FixedCount() const { return true; }
  // True where positions follow from the context and the number of elements alone (Random-K): they
  // do not travel, and messages of all workers can be summed.
  virtual bool SharedSupport() const { return false; }
  // False where no parameter says how much is kept, or the unit's history says which: no
  // multi-level compression.
  virtual bool TakesCandidates() const { return !Parameter().name.empty(); }
  // False where what is sent is not the value itself (unbiased Random-K): error feedback would
  // diverge.
  virtual bool AllowsErrorFeedback() const { return true; }

  // True for units that the method's own rule sends whole (RedSync's small layers).
  virtual bool SendsWhole([[maybe_unused]] int64_t numel) const { return false; }
  // The quantiser that the method brings with it (quantised RedSync's mean); empty: any may follow.
  virtual std::string_view OwnQuantiser() const { return {}; }

  // Of the kernels that do the same on a device; none: there are none.
  virtual std::optional<SparsifierSetting> Setting() const { return std::nullopt; }

  // Work of Select in that context, without the residual's: a kernel of the sparsifier's name
  // (kernel_costs.h). Searches that serve several steps are due where the state says so.
  virtual WorkList EncodeWork(int64_t numel, const CodecContext& context) const;
  // Of adding gradient and residual: a pass of its own, or a part of that which selects.
  virtual WorkList SumWork(int64_t numel) const { return {{"accumulate", numel}}; }
  // True where it also takes out of the residual what it selects.
  virtual bool TakesOut([[maybe_unused]] Feeding feeding) const { return false; }

  // `count`: about how many are wanted (KeptCount of the whole unit and the density); read by
  // methods whose parameter is a density. `values` may be a unit or what a looser selection of it
  // kept (multi-level compression). Throws Error on NaN and infinity, naming context.unit.
  virtual Selection Select(std::span<const float> values, int64_t count,
                           const CodecContext& context) const = 0;

  // residual += gradient; selects from the sum; residual is 0 at the positions that are sent. One
  // pass where the method allows it; the default makes three of it.
  virtual Selection SelectWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                       int64_t count, const CodecContext& context) const;

  // Positions for SharedSupport(), as the receivers draw them.
  virtual std::vector<uint32_t> Support(int64_t numel, int64_t count,
                                        const CodecContext& context) const;

  // Of SquaredErrors.
  virtual WorkList ErrorWork(int64_t numel, std::span<const double> parameters) const;

  // ||x - what Select keeps||^2 for each parameter (density), from one pass over the values. The
  // default selects once for each.
  virtual std::vector<double> SquaredErrors(std::span<const float> values,
                                            std::span<const double> parameters,
                                            const CodecContext& context) const;
};

struct SparsifierRow {
  MethodInfo info;
  std::function<std::unique_ptr<Sparsifier>(const OptionReader& options)> make;
};

// topk, randomk, threshold, sampled (DGC's), redsync, sidco, adacomp, cat, gaussian
std::span<const SparsifierRow> SparsifierTable();
// `stage` without the options that are the codec's own (index).
std::unique_ptr<Sparsifier> MakeSparsifier(const Stage& stage);

}  // namespace legacy
