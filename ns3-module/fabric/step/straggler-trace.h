// A straggler trace has factors from measured times: a CSV file with a header line and a row for
// each step and worker. `Settings` tell which columns hold what, so that published traces are read
// as they are:
//
//   step=NAME, worker=NAME   whole numbers >= 0; default "step", "worker"
//   time=NAME[+NAME...]      > 0, summed over these columns; default "time". Rows of the same step
//                            and worker (stages of a pipeline): the largest counts
//   unit=step|run|factor     times are divided by the median over the workers of their step
//                            (default), or over the whole trace; factor: taken as they are
//   workers=3+7+...          the trace's workers that drive workers 0, 1, ...; repeats are allowed;
//                            default: all, ascending
//
// Steps are taken in ascending order of their numbers; every worker of the trace must be in every
// step. A run that is longer than the trace starts it again.
#pragma once

#include "base/settings.h"

#include <cstdint>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A StragglerTrace is the file as factors by step and worker.
class StragglerTrace
{
  public:
    /// Reads the file of key `file`. Throws Error with file and line.
    explicit StragglerTrace(Settings& settings);

    /// Return the number of steps and of workers in the trace.
    int64_t Steps() const;
    int Workers() const;
    /// Returns the factors of workers 0 to workers - 1 at `step` modulo Steps(). Throws Error where
    /// the trace has fewer workers.
    std::vector<double> Factors(int workers, uint64_t step) const;

  private:
    std::string m_path;
    std::vector<std::vector<double>> m_factors; ///< [step][worker]
};

/// Reads worker numbers such as "3+7". Throws Error naming `location`.
std::vector<int> ParseWorkerList(const std::string& text, const std::string& location);

} // namespace legacy::fabric
