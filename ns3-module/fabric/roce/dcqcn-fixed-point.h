// The fixed point of DCQCN: where N flows that share a link stay.
#pragma once

#include "dcqcn.h"

#include <cstdint>

namespace legacy::fabric
{

/// A DcqcnFixedPoint has two closed forms of the marking probability p* at which a flow's mean rate
/// is C/N. Both take the probability for constant, and the order of marks for random.
///
/// Solve has the equations of Zhu et al. ("ECN or Delay", CoNEXT'16, section 3.1), a fluid: events
/// are spread over time, and CNPs are sent at the ends of intervals N in which a marked frame came.
///
/// SolveCycles follows a flow from one CNP to the next, which is a time D later. With P(D >= t) = 1
/// up to N, and after it
///
///   (1-p)^(R (t-N))   where a mark in N is forgotten (np=gap): D is N and the frames to a mark
///   (1-p)^(R t)       where it is answered when N is over (np=window)
///
///   alpha = 1 / (1 + sum over k >= 1 of P(D >= k K))
///
/// A cut from rate P leaves the target P and d = R_T - R_C = alpha P / 2. An event that adds A to
/// the target makes d (d + A)/2. The n events in D thus make the target P + G and d alpha P / 2^n+1
/// + r, and P stays where alpha P/2 E[2^-n] = E[G - r]. The mean rate is that over all times of a
/// cycle: P (1 - alpha/2 <2^-n>) + <G - r>.
struct DcqcnFixedPoint
{
    /// \param parameters with a byte counter and a cut at each CNP, which always sets R_T; R_AI and
    /// R_HAI are those of the line
    /// \param flows N
    /// \param line C, bit/s
    /// \param frameBytes of each frame on the wire
    DcqcnFixedPoint(const DcqcnParameters& parameters, int flows, double line, int64_t frameBytes);

    /// Returns how much the decrease exceeds the increase in the equations of CoNEXT'16 at a
    /// marking probability; it grows.
    double Excess(double share) const;
    /// Returns the p* of CoNEXT'16, at which both are equal.
    double Solve() const;

    /// Returns a flow's mean rate over C/N at a marking probability, from CNP to CNP, where its
    /// frames come at C/N; it falls.
    double MeanRate(double share) const;
    /// Returns the p* at which it is 1, where that is not less than a mark in 1,000 T.
    double SolveCycles() const;

    double rate = 0;      ///< R = C/N, frames a second
    double additive = 0;  ///< R_AI, frames a second
    double hyper = 0;     ///< R_HAI, frames a second
    double interval = 0;  ///< N of the CNPs (tau), seconds
    bool windows = false; ///< marks within N are answered when it is over
    double decay = 0;     ///< K (tau'), seconds
    double timer = 0;     ///< T, seconds
    double bytes = 0;     ///< B, frames
    double stages = 0;    ///< F
    double cutShare = 0;  ///< of alpha that a cut takes
};

} // namespace legacy::fabric
