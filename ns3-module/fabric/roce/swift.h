// Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
// Datacenter", SIGCOMM'20, section 3 and algorithm 1). A window of cwnd frames, which may be a
// fraction, follows the delay of each frame: its round trip without what the receiver took.
//
//   target = base + h hop + clamp(A / sqrt(cwnd) + Bf, 0, range)
//   A = range / (1/sqrt(fs_min) - 1/sqrt(fs_max)),  Bf = -A / sqrt(fs_max)
//   delay < target   cwnd += ai / cwnd for each acknowledged frame; below 1: ai
//   else, once in a round trip: cwnd *= max(1 - b (delay - target) / delay, 1 - mdf)
//   loss, once in a round trip: cwnd *= 1 - mdf; five time-outs in a row: the least window
//
// h is the number of switches. Below one frame, a frame leaves every RTT/cwnd. The window begins at
// what the line holds in a base round trip, and never is larger than what it holds in the largest
// target.
#pragma once

#include "control.h"

#include "base/settings.h"

namespace legacy::fabric
{

/// SwiftParameters are the constants of Swift.
struct SwiftParameters
{
    double base = 0;       ///< ps; 0: T of the pair + 10 us
    double hop = 0;        ///< ps for each switch
    double range = 0;      ///< of flow scaling, in bases
    double leastScale = 0; ///< fs_min, frames
    double mostScale = 0;  ///< fs_max, frames
    double additive = 0;   ///< ai, frames
    double decrease = 0;   ///< b
    double deepest = 0;    ///< mdf
    double least = 0;      ///< frames
    int timeouts = 0;
};

/// A SwiftState is a queue pair's.
struct SwiftState : RoceState
{
    double line = 0;
    double frame = 0;        ///< bytes of a full frame on the wire
    double base = 0;         ///< base + h hop, ps
    double range = 0;        ///< ps
    double windowFrames = 0; ///< cwnd
    double most = 0;         ///< frames
    double roundTrip = 0;    ///< the last, ps
    Picoseconds lastCut = 0;
    int timeouts = 0; ///< in a row
    bool wasCut = false;
};

/// Swift is the control.
class Swift : public RoceControl
{
  public:
    explicit Swift(const SwiftParameters& parameters);

    static SwiftParameters Read(Settings& settings);

    const RoceTraits& Traits() const override;
    size_t StateBytes(int switches) const override;
    RoceState* Begin(void* memory, const RocePath& path, Picoseconds now) const override;
    void OnAck(RoceState& state, const RoceAck& ack) const override;
    void OnLoss(RoceState& state, const RoceLoss& loss) const override;

    /// Returns the target delay of a window of that many frames, in picoseconds.
    double Target(const SwiftState& state, double frames) const;

  private:
    bool MayCut(const SwiftState& state, Picoseconds now) const;
    void SetWindow(SwiftState& state, double frames) const;

    SwiftParameters m_parameters;
    RoceTraits m_traits;
};

} // namespace legacy::fabric
