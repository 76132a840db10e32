// HPCC (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM'19, section 3 and
// algorithm 1). A sender keeps the bytes in flight of every link of its path a little below what
// the link holds in a round trip. With the records L of an ACK (telemetry.h) and those of the ACK
// before, L', base round trip T, and for each switch i of the path
//
//   u_i = min(qLen_i, qLen_i') / (B_i T) + (txBytes_i - txBytes_i') / ((TS_i - TS_i') B_i)
//
// u = the largest, tau = min(TS - TS' of that switch, T), and U <- (1 - tau/T) U + (tau/T) u.
//
//   U >= eta or incStage >= maxStage   W = W_c / (U / eta) + W_AI
//   else                               W = W_c + W_AI
//
// An ACK that covers a frame sent after the last update of W_c makes the next: W_c <- W, and
// incStage <- 0 in the first case, + 1 in the second. The rate is W/T. W begins at B_NIC T, beyond
// which it never is, and U at 1; the first ACK only fills L'.
//
// N long flows on one link settle at U = eta + N W_AI / (B T), and below 1 there is no standing
// queue.
#pragma once

#include "control.h"

#include "base/settings.h"

namespace legacy::fabric
{

/// HpccParameters are the constants of HPCC.
struct HpccParameters
{
    double eta = 0.95;
    int stages = 5;           ///< maxStage
    double windowStep = 80;   ///< W_AI, bytes
    double rateStep = 0;      ///< W_AI as a rate: W_AI = rateStep T; 0: windowStep
    bool asOnTheWire = false; ///< records are rounded and wrap around as their bits do
};

/// HpccRecord is what is kept of a record, L' of one switch.
struct HpccRecord
{
    Picoseconds time = 0;
    int64_t sentBytes = 0;
    int64_t queuedBytes = 0;
};

/// An HpccState is a queue pair's. Its `room` records lie after it.
struct HpccState : RoceState
{
    double roundTrip = 0;    ///< T, picoseconds
    double most = 0;         ///< W_init, bytes
    double step = 0;         ///< W_AI, bytes
    double reference = 0;    ///< W_c, bytes
    double utilisation = 1;  ///< U
    uint64_t lastUpdate = 0; ///< next sequence number at the last update of W_c
    int stage = 0;           ///< incStage
    int room = 0;
    int known = -1; ///< records of L'; -1: none yet
    uint16_t pathId = 0;
};

/// Hpcc is the control.
class Hpcc : public RoceControl
{
  public:
    explicit Hpcc(const HpccParameters& parameters);

    static HpccParameters Read(Settings& settings);

    const RoceTraits& Traits() const override;
    size_t StateBytes(int switches) const override;
    RoceState* Begin(void* memory, const RocePath& path, Picoseconds now) const override;
    /// Throws Error where `int=wire` has no code for a port's rate. An ACK without records, or of
    /// more switches than the path had, changes nothing.
    void OnAck(RoceState& state, const RoceAck& ack) const override;

  private:
    bool Measure(HpccState& state, const RoceAck& ack) const;

    HpccParameters m_parameters;
    RoceTraits m_traits;
};

} // namespace legacy::fabric
