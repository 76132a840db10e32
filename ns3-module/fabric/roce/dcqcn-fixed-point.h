// The fixed point of DCQCN: where N flows that share a link stay (Zhu et al., "ECN or Delay",
// CoNEXT'16, section 3.1).
#pragma once

#include "dcqcn.h"

#include <cstdint>

namespace legacy::fabric
{

/// A DcqcnFixedPoint has the equations, which take rates for constant and CNPs for sent at the ends
/// of intervals N in which a marked frame came.
struct DcqcnFixedPoint
{
    /// \param parameters with a byte counter; R_AI is that of the line
    /// \param flows N
    /// \param line C, bit/s
    /// \param frameBytes of each frame on the wire
    DcqcnFixedPoint(const DcqcnParameters& parameters, int flows, double line, int64_t frameBytes);

    /// Returns how much the decrease exceeds the increase at a marking probability; it grows.
    double Excess(double share) const;
    /// Returns the marking probability p* at which both are equal.
    double Solve() const;

    double rate = 0;     ///< R = C/N, frames a second
    double additive = 0; ///< R_AI, frames a second
    double interval = 0; ///< N of the CNPs (tau), seconds
    double decay = 0;    ///< K (tau'), seconds
    double timer = 0;    ///< T, seconds
    double bytes = 0;    ///< B, frames
    double stages = 0;   ///< F
};

} // namespace legacy::fabric
