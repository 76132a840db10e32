// A parameter grid holds the parameters that a policy chooses from for each unit, and what each
// would send.
//
//   density, theta   kept fraction = anchor's * 2^(j/2) within [low, high] times the anchor's,
//                    clipped to [1 / numel, max(0.5, the anchor's)]
//   rank             whole numbers in [floor(low * anchor), ceil(high * anchor)]
//   bits             2 to 8, and the anchor; without those with which error feedback would diverge
//
// All are within the parameter's own range, in ascending order of what they send. For units that
// the scheme sends whole, every option is the anchor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/exchange.h"
#include "compress/policies/knapsack.h"
#include "compress/unit.h"

namespace legacy {

// The range of options relative to the anchor; bits have a range of their own.
struct GridRange {
  double low = 1;
  double high = 1;
};

// Every unit has the same number of options.
class ParameterGrid {
 public:
  // Throws Error if the scheme's parameter is none of the above.
  ParameterGrid(const Scheme& scheme, std::span<const Unit> units, double anchor,
                const GridRange& range);
  // Takes the same parameters for every unit, or the anchor for units that are sent whole.
  ParameterGrid(const Scheme& scheme, std::span<const Unit> units, double anchor,
                const std::vector<double>& parameters);

  size_t Units() const { return compressed_.size(); }
  size_t Options() const { return options_; }
  double Parameter(size_t unit, size_t option) const {
    return parameters_[unit * options_ + option];
  }
  bool Compressed(size_t unit) const { return compressed_[unit]; }
  // Returns for each unit the option nearest to ScaleParameter(anchor, factor), by amount.
  Choices Nearest(double factor) const;

  // Returns the bytes that one worker sends: 4 per value if a message's length depends on the data.
  ChoiceTable Bytes() const;
  // Returns the multiply-adds of a product that grow with the parameter, for ranks; 0 for all other
  // parameters.
  ChoiceTable Work() const;
  // Returns ||x - C(x)||^2, where x is `values`, flat as the units are in the model; 0 if the unit
  // is sent whole with that parameter. `random` is completed with each unit's number.
  ChoiceTable SquaredErrors(std::span<const float> values, const RandomKey& random) const;
  // Returns the device work of SquaredErrors.
  WorkList ErrorWork() const;

 private:
  void Add(size_t unit, std::vector<double> parameters);

  const Scheme* scheme_;
  std::vector<Unit> units_;
  double anchor_;
  size_t options_ = 0;
  std::vector<double> parameters_;  // [unit * options + option]
  std::vector<bool> compressed_;
};

}  // namespace legacy
