// DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM'15, section 3;
// its equations and fixed point: Zhu et al., "ECN or Delay", CoNEXT'16, section 3).
//
// A marked frame makes the receiver send a CNP, if it has sent none in the last N. With `np=window`
// it answers the marks of such a time when N is over, as in the equations of the fixed point. With
// the rate R_C, the target rate R_T and alpha of a queue pair, which begin at the line, the line
// and 1, a CNP makes the sender cut:
//
//   R_T <- R_C;  R_C <- R_C (1 - alpha/2);  alpha <- (1 - g) alpha + g
//   byte counter, timer, and their events s_b and s_t <- 0
//
// and every K without a CNP, alpha <- (1 - g) alpha. Every T of time and every B bytes sent the
// rate increases, with s_t and s_b the events of timer and byte counter before this one:
//
//   max(s_t, s_b) < F   nothing to R_T (fast recovery)
//   min(s_t, s_b) > F   R_T <- R_T + R_HAI (hyper increase)
//   else                R_T <- R_T + R_AI (additive increase)
//   R_C <- (R_T + R_C) / 2, both at most the line
//
// The first F events are thus fast recovery, as in the fixed point: its (1-p)^(F B) is the
// probability of additive increase at the events after F B packets. Without a byte counter, s_t
// stands for both. Before its first CNP a NIC knows of no congestion, so alpha's time begins with
// that CNP.
//
// NICs work in periods (`cut-period` > 0) from the first CNP on: at the end of each, the rate is
// cut if a CNP came in it, by alpha/2^(gd-10), at most by half; and every K, alpha <- (1 - g) alpha
// (+ g if a CNP came).
// With `target=after-time`, a cut sets R_T only after an increase by time.
#pragma once

#include "control.h"

#include "base/settings.h"

#include <memory>

namespace legacy::fabric
{

/// DcqcnParameters are the constants of DCQCN.
struct DcqcnParameters
{
    double gain = 0;             ///< g
    Picoseconds alphaPeriod = 0; ///< K
    Picoseconds cnpInterval = 0; ///< N; 0: a CNP for each marked frame
    bool cnpWindows = false;     ///< a mark within N of a CNP is answered when N is over
    Picoseconds cutPeriod = 0;   ///< 0: a cut at each CNP
    Picoseconds timer = 0;       ///< T
    int64_t counterBytes = 0;    ///< B; 0: no byte counter
    int stages = 0;              ///< F
    double additive = 0;         ///< R_AI, bit/s
    double hyper = 0;            ///< R_HAI, bit/s
    double scaledFrom = 0; ///< line rate from which R_AI and R_HAI grow in proportion; 0: none
    bool additiveScales = false;  ///< R_AI does; it was not given
    bool hyperScales = false;     ///< R_HAI does
    double leastRate = 0;         ///< bit/s
    double cutShare = 0;          ///< of alpha: 2^(10 - gd)
    bool targetAfterTime = false; ///< a cut sets R_T only after an increase by time
};

/// A DcqcnState is a queue pair's.
struct DcqcnState : RoceState
{
    double line = 0;              ///< bit/s; R_C is `rate`
    double target = 0;            ///< R_T
    double alpha = 1;             ///< as of alphaTime
    double additive = 0;          ///< R_AI on this line
    double hyper = 0;             ///< R_HAI on this line
    Picoseconds alphaTime = 0;    ///< of alpha's last change
    Picoseconds increaseAt = 0;   ///< next event of the timer; kNoTimer at the line
    Picoseconds cutAt = kNoTimer; ///< end of a period in which a CNP came
    Picoseconds firstCnp = kNoTimer;
    int64_t counted = 0;      ///< bytes since the last event of the byte counter
    int64_t timeEvents = 0;   ///< s_t
    int64_t byteEvents = 0;   ///< s_b
    bool cnpInPeriod = false; ///< of alpha
};

/// Dcqcn is the control.
class Dcqcn : public RoceControl
{
  public:
    explicit Dcqcn(const DcqcnParameters& parameters);

    /// Reads "parameters" and all other keys. Throws Error.
    static DcqcnParameters Read(Settings& settings);

    const RoceTraits& Traits() const override;
    size_t StateBytes(int switches) const override;
    RoceState* Begin(void* memory, const RocePath& path, Picoseconds now) const override;
    void OnSent(RoceState& state, const RoceSent& sent) const override;
    void OnCnp(RoceState& state, Picoseconds now) const override;
    void OnTimer(RoceState& state, Picoseconds now) const override;

    /// Returns alpha at `now`, at or after all that the state was told.
    double Alpha(const DcqcnState& state, Picoseconds now) const;

  private:
    void AdvanceAlpha(DcqcnState& state, Picoseconds now) const;
    void Cut(DcqcnState& state, Picoseconds now) const;
    void Increase(DcqcnState& state) const;
    static void SetTimer(DcqcnState& state);

    DcqcnParameters m_parameters;
    RoceTraits m_traits;
};

} // namespace legacy::fabric
