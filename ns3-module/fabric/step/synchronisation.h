// Synchronisation says whose gradients a step waits for. It is decided before anything is sent,
// from the time at which each worker's gradients are ready, which does not depend on the network.
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

#include "base/units.h"

#include <string>
#include <vector>

namespace legacy::fabric
{

/// A Participation says which workers are active in a step.
struct Participation
{
    std::vector<int> workers; ///< active workers, ascending; empty: all
    /// Time from the step's start at which the others learn that they are not active; 0 where all
    /// are.
    TimeNs decided = 0;
};

/// A Synchronisation is one of the rules above.
class Synchronisation
{
  public:
    /// Reads a rule from text. Throws Error naming `option`.
    Synchronisation(const std::string& text, const std::string& option);

    /// Returns the text of the rule.
    const std::string& Text() const;
    /// True where workers may be left out, so that who is active depends on devices and stragglers.
    bool MayDrop() const;
    /// Throws Error where none of that many workers would be left, or `min` is more than there are.
    void CheckWorkers(int workers) const;
    /// Returns who is active, given the time at which each worker is ready, from the step's start.
    Participation Decide(const std::vector<TimeNs>& ready) const;

  private:
    TimeNs Deadline(const std::vector<TimeNs>& ready) const;

    std::string m_text;
    std::string m_option;
    bool m_deadline = false;
    int m_backup = 0;    ///< workers to drop
    TimeNs m_time = 0;   ///< time of a deadline; 0: it is a multiple of the median
    double m_factor = 0; ///< multiple of the median
    int m_minimum = 1;   ///< workers that a deadline leaves at least
};

} // namespace legacy::fabric
