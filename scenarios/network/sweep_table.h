// The table of a sweep, point by point.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/programs/terminal.h"
#include "scenarios/network/fidelity.h"
#include "scenarios/network/measure.h"

namespace legacy {

// A SweepTable shows a sweep point by point, with the slowest worker's time at each fidelity. The
// fidelities are shown side by side where a terminal of `columns` has room, else one below the
// other.
class SweepTable {
 public:
  // `swept` has names of options, and `points` all values that they take.
  SweepTable(std::vector<std::string> swept, const std::vector<ExperimentOptions>& points,
             std::vector<Fidelity> fidelities, size_t columns = OutputColumns());

  std::string Header() const;
  // Returns the lines of a point.
  std::string Lines(const ExperimentOptions& options, const PreparedExperiment& prepared,
                    const std::vector<Measurement>& measurements) const;

 private:
  struct Cells {
    std::string time, rate, difference;
  };

  // Returns a line in columns. `fidelity` is shown where fidelities are one below the other.
  std::string Line(const std::vector<std::string>& values, const std::string& fidelity,
                   const std::function<Cells(Fidelity)>& cells) const;

  std::vector<std::string> swept_;
  std::vector<size_t> widths_;  // of the columns of `swept_`
  std::vector<Fidelity> fidelities_;
  bool beside_ = true;
};

}  // namespace legacy
