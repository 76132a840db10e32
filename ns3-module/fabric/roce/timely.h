// TIMELY (Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM'15,
// section 4 and algorithm 1). At the completion of each segment, with the round trip t of its last
// frame without the frame's own time on the wire, and t' that of the segment before,
//
//   D <- (1 - a) D + a (t - t');  grad = D / T_min
//   t < T_low     R <- R + delta
//   t > T_high    R <- R (1 - b (1 - T_high / t))
//   grad <= 0     R <- R + n delta,  n = 5 from the fifth such segment in a row on, else 1
//   else          R <- R (1 - b grad)
//
// An update that comes sooner than T_min after the one before changes the rate by that part of the
// time alone, as in the code that its authors published (timely-code-snippet.cc): segments of fast
// lines are shorter than those of 10 Gbit/s, for which the constants are.
//
// The paper's factor 1 - b grad is below 0 where grad exceeds 1/b = 1.25. The authors' code lets
// no update take more than half of a rate; so does this.
//
// It has no fixed point of its own. The patched form (Zhu et al., CoNEXT'16, section 4.3) has, with
// b = 0.008; its last two lines are, with w = clamp(2 grad + 1/2, 0, 1),
//
//   R <- delta (1 - w) + R (1 - b w (t - T_low) / T_low)
//
// Segments leave as bursts at line rate, or as paced frames.
#pragma once

#include "control.h"

#include "base/settings.h"

namespace legacy::fabric
{

/// TimelyParameters are the constants of TIMELY.
struct TimelyParameters
{
    double delta = 0;     ///< bit/s; 0: of the line rate
    double decrease = 0;  ///< b
    double weight = 0;    ///< a
    double low = 0;       ///< T_low, ps
    double high = 0;      ///< T_high, ps
    double least = 0;     ///< T_min, ps
    double leastRate = 0; ///< bit/s; 0: of the line rate
    double deepest = 0;   ///< least factor of a decrease
    int64_t segment = 0;  ///< payload bytes
    bool patched = false;
    bool bursts = false; ///< segments leave back to back
};

/// A TimelyState is a queue pair's.
struct TimelyState : RoceState
{
    double line = 0;
    double delta = 0;
    double least = 0;
    double difference = 0;   ///< D, ps
    double last = -1;        ///< t', ps; -1: none yet
    Picoseconds updated = 0; ///< when the rate was last set
    int64_t completed = 0;   ///< payload bytes of the segment that were acknowledged
    int negative = 0;        ///< segments in a row with grad <= 0
};

/// Timely is the control.
class Timely : public RoceControl
{
  public:
    explicit Timely(const TimelyParameters& parameters);

    static TimelyParameters Read(Settings& settings);

    const RoceTraits& Traits() const override;
    size_t StateBytes(int switches) const override;
    RoceState* Begin(void* memory, const RocePath& path, Picoseconds now) const override;
    void OnAck(RoceState& state, const RoceAck& ack) const override;

  private:
    double NewRate(TimelyState& state, double roundTrip) const;

    TimelyParameters m_parameters;
    RoceTraits m_traits;
};

} // namespace legacy::fabric
