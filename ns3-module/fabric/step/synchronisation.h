// Synchronisation: whose gradients a step waits for. Decided before anything is sent, from the time
// at which each worker's gradients are ready, which does not depend on the network.
//
//   barrier                       everybody's
//   backup:k=2                    the slowest 2 are dropped: the gradients of the N - 2 fastest
//                                 count (Chen et al., "Revisiting distributed synchronous SGD",
//                                 2016)
//   deadline:time=50ms,min=1      who is not ready 50 ms after the step's start is dropped; where
//                                 fewer than `min` are, the fastest `min` are waited for
//   deadline:factor=1.5,min=1     the same, 1.5 times the median of the workers' times
//
// Of equally slow workers the lower number takes part.
#pragma once

#include "fabric/base/units.h"

#include <string>
#include <vector>

namespace legacy::fabric
{

struct Participation
{
    std::vector<int> workers; ///< that take part, ascending; empty: all
    /// when the others learn that they take no part, from the step's start; 0 where all take part
    TimeNs decided = 0;
};

class Synchronisation
{
  public:
    /// Throws Error naming `option`.
    Synchronisation(const std::string& text, const std::string& option);

    const std::string& Text() const;
    /// True where workers may be left out: who takes part then depends on devices and stragglers.
    bool MayDrop() const;
    /// Throws Error where nobody would be left of so many workers, or `min` is more than they are.
    void CheckWorkers(int workers) const;
    /// `ready`: of each worker, from the step's start.
    Participation Decide(const std::vector<TimeNs>& ready) const;

  private:
    TimeNs Deadline(const std::vector<TimeNs>& ready) const;

    std::string m_text;
    std::string m_option;
    bool m_deadline = false;
    int m_backup = 0;    ///< workers to drop
    TimeNs m_time = 0;   ///< of a deadline; 0: a multiple of the median
    double m_factor = 0; ///< of the median
    int m_minimum = 1;   ///< workers that a deadline leaves at least
};

} // namespace legacy::fabric
