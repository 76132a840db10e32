// A sparsifier selects the elements of a unit that are sent. It has no state and is thread safe.
// State that a method keeps between steps (RedSync's thresholds, SIDCo's stages) is in
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

// The selected elements: strictly ascending positions, and the value at each.
struct Selection {
  std::vector<uint32_t> positions;
  std::vector<float> values;
};

// Properties of a sparsifier that do not depend on what it compresses.
struct SparsifierTraits {
  // True if exactly `count` elements are always selected, so that the message's length is known
  // beforehand.
  bool fixed_count = true;
  // True if positions follow from the context and the number of elements alone (Random-K): they are
  // not sent, and messages of all workers can be summed.
  bool shared_support = false;
  // False if the unit's history, and not the parameter, determines how much is selected.
  // Multi-level compression is then not possible, nor is it without a parameter.
  bool takes_candidates = true;
  // False if the sent values differ from the selected ones (unbiased Random-K): error feedback
  // would diverge.
  bool allows_error_feedback = true;
  // The quantiser that belongs to the method (quantised RedSync's mean). If empty, any may follow.
  std::string_view own_quantiser = {};
};

// Selects from the values of one unit of one worker.
class Sparsifier : public Pluggable {
 public:
  virtual ~Sparsifier() = default;
  // Returns the name in SparsifierTable().
  virtual std::string_view Name() const = 0;
  virtual CodecId Id() const = 0;                      // the header's name for it
  virtual const ParameterSpec& Parameter() const = 0;  // a density or a threshold
  virtual SparsifierTraits Traits() const { return {}; }

  // Returns true for units that the method's own rule sends whole (RedSync's small layers).
  virtual bool SendsWhole([[maybe_unused]] int64_t numel) const { return false; }
  // Returns the setting of the equivalent kernels on a device, or nothing if there are none.
  virtual std::optional<SparsifierSetting> Setting() const { return std::nullopt; }

  // Returns the work of Select in that context, without the residual's: a kernel of the
  // sparsifier's name (kernel_costs.h). A search whose result serves several steps is charged in
  // the steps in which the state says that it is due.
  virtual WorkList EncodeWork(int64_t numel, const CodecContext& context) const;
  // Returns the work of adding gradient and residual: a pass of its own, or a part of the selecting
  // pass.
  virtual WorkList SumWork(int64_t numel) const { return {{"accumulate", numel}}; }
  // Returns true if that work also clears the selected elements of the residual.
  virtual bool TakesOut([[maybe_unused]] Feeding feeding) const { return false; }

  // Selects about `count` elements, which is KeptCount of the whole unit and the density; only
  // methods whose parameter is a density read `count`. `values` is a unit, or the looser selection
  // of it (multi-level compression). Throws Error for NaN and infinity, naming context.unit.
  virtual Selection Select(std::span<const float> values, int64_t count,
                           const CodecContext& context) const = 0;

  // Adds `gradient` to `residual`, selects from the sum, and sets `residual` to 0 at the selected
  // positions. It takes one pass if the method allows it; the default takes three.
  virtual Selection SelectWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                       int64_t count, const CodecContext& context) const;

  // Returns the positions if SparsifierTraits::shared_support is true, as the receivers draw them.
  virtual std::vector<uint32_t> Support(int64_t numel, int64_t count,
                                        const CodecContext& context) const;

  // Returns the device work of SquaredErrors.
  virtual WorkList ErrorWork(int64_t numel, std::span<const double> parameters) const;

  // Returns the squared norm of x minus its selection for each parameter (density), where x is
  // `values`, from one pass over them. The default selects once for each.
  virtual std::vector<double> SquaredErrors(std::span<const float> values,
                                            std::span<const double> parameters,
                                            const CodecContext& context) const;
};

// Checks the selection of a plugin's sparsifier: strictly ascending positions below `numel`, a
// value for each, and `count` of them if that is known beforehand. Throws Error naming the plugin.
void CheckSelection(const Sparsifier& sparsifier, const Selection& selection, int64_t numel,
                    std::optional<int64_t> count);

// A row of SparsifierTable().
struct SparsifierRow {
  MethodInfo info;
  std::function<std::unique_ptr<Sparsifier>(const OptionReader& options)> make;
};

// Returns all, in the order of their names.
std::span<const SparsifierRow> SparsifierTable();
// Makes a sparsifier. `stage` must not contain the codec's own option (index).
std::unique_ptr<Sparsifier> MakeSparsifier(const Stage& stage);

}  // namespace legacy
