// A sparsifier says which elements of a unit are sent. It has no state and is thread safe; what a
// method carries from step to step (RedSync's thresholds, SIDCo's stages) is in
// CodecContext::state.
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

// A Selection is what is sent: strictly ascending positions, and the value at each.
struct Selection {
  std::vector<uint32_t> positions;
  std::vector<float> values;
};

// SparsifierTraits are what holds for a sparsifier whatever it compresses.
struct SparsifierTraits {
  // True where exactly `count` elements are always selected, so that the message's length is known
  // beforehand.
  bool fixed_count = true;
  // True where positions follow from the context and the number of elements alone (Random-K): they
  // are not sent, and messages of all workers can be summed.
  bool shared_support = false;
  // False where the unit's history says how much is kept, and not the parameter: multi-level
  // compression is not possible then, nor without a parameter.
  bool takes_candidates = true;
  // False where the sent values differ from the selected ones (unbiased Random-K): error feedback
  // would diverge.
  bool allows_error_feedback = true;
  // The quantiser that the method brings with it (quantised RedSync's mean). Empty: any may follow.
  std::string_view own_quantiser = {};
};

// A Sparsifier selects from the values of one unit of one worker.
class Sparsifier : public Pluggable {
 public:
  virtual ~Sparsifier() = default;
  // The name in SparsifierTable().
  virtual std::string_view Name() const = 0;
  virtual CodecId Id() const = 0;                      // the header's name for it
  virtual const ParameterSpec& Parameter() const = 0;  // a density or a threshold
  virtual SparsifierTraits Traits() const { return {}; }

  // True for units that the method's own rule sends whole (RedSync's small layers).
  virtual bool SendsWhole([[maybe_unused]] int64_t numel) const { return false; }
  // Returns the setting of the kernels that do the same on a device, or nothing where there are no
  // kernels.
  virtual std::optional<SparsifierSetting> Setting() const { return std::nullopt; }

  // Returns the work of Select in that context, without the residual's: a kernel of the
  // sparsifier's name (kernel_costs.h). Searches that serve several steps are charged where the
  // state says that they are due.
  virtual WorkList EncodeWork(int64_t numel, const CodecContext& context) const;
  // Returns the work of adding gradient and residual: a pass of its own, or a part of the pass that
  // selects.
  virtual WorkList SumWork(int64_t numel) const { return {{"accumulate", numel}}; }
  // True where that work also clears the selected elements of the residual.
  virtual bool TakesOut([[maybe_unused]] Feeding feeding) const { return false; }

  // Selects about `count` elements, KeptCount of the whole unit and the density; only methods whose
  // parameter is a density read `count`. `values` is a unit, or what a looser selection of it kept
  // (multi-level compression). Throws Error on NaN and infinity, naming context.unit.
  virtual Selection Select(std::span<const float> values, int64_t count,
                           const CodecContext& context) const = 0;

  // Adds `gradient` to `residual`, selects from the sum, and sets `residual` to 0 at the positions
  // that are sent. It takes one pass where the method allows it; the default takes three.
  virtual Selection SelectWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                       int64_t count, const CodecContext& context) const;

  // Returns the positions where SparsifierTraits::shared_support is true, as the receivers draw
  // them.
  virtual std::vector<uint32_t> Support(int64_t numel, int64_t count,
                                        const CodecContext& context) const;

  // Returns the device work of SquaredErrors.
  virtual WorkList ErrorWork(int64_t numel, std::span<const double> parameters) const;

  // Returns ||x - what Select keeps||^2 for each parameter (density), where x is `values`, from one
  // pass over them. The default selects once for each.
  virtual std::vector<double> SquaredErrors(std::span<const float> values,
                                            std::span<const double> parameters,
                                            const CodecContext& context) const;
};

// Checks what a plugin's sparsifier selected: strictly ascending positions below `numel`, a value
// for each, and `count` of them where it is known beforehand. Throws Error naming the plugin.
void CheckSelection(const Sparsifier& sparsifier, const Selection& selection, int64_t numel,
                    std::optional<int64_t> count);

// A row of SparsifierTable().
struct SparsifierRow {
  MethodInfo info;
  std::function<std::unique_ptr<Sparsifier>(const OptionReader& options)> make;
};

// Returns topk, randomk, threshold, sampled (DGC's), redsync, sidco, adacomp, cat and gaussian.
std::span<const SparsifierRow> SparsifierTable();
// Makes a sparsifier. `stage` comes without the options that are the codec's own (index).
std::unique_ptr<Sparsifier> MakeSparsifier(const Stage& stage);

}  // namespace legacy
