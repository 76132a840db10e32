// The contract of congestion controls of RoCEv2 NICs: who may send how fast and how much, from
// frames sent, ACKs, congestion notifications (CNP), losses and time.
//
// A control is one object of a run, which no call changes. What it knows of a queue pair lies in
// memory of the NIC, so that opening a queue pair and every call after it allocate nothing:
//
//   auto control = MakeRoceControl("dcqcn:parameters=mellanox", where);
//   void* memory = ...; // of control->StateBytes(path.switches) bytes
//   RoceState* state = control->Begin(memory, path, now);
//   control->OnAck(*state, ack); // may change rate, window and timer of the state
//
// Rules for the NIC that owns the state:
//
// * It sends a frame when its bytes in flight are fewer than `window`, and not before the time that
//   `rate` allows (pacer.h).
// * It calls OnTimer at state->timer, once: the call sets the next one. A timer may move or vanish
//   in any call, so the NIC compares when its own event comes. There is none at line rate.
// * Begin in the same memory makes the queue pair as new: after it was idle (traits.restarts), with
//   a message (roce:idle=message), or for a new graph of flows. ACKs, CNPs and losses that tell of
//   frames sent before are not told to the state.
// * Bytes are those on the wire, with preamble and gap, unless stated otherwise.
//
// Calls are pure arithmetic on doubles: +, -, *, / and sqrt, which have the same bits everywhere.
#pragma once

#include "telemetry.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace legacy::fabric
{

/// A timer that is not set.
inline constexpr Picoseconds kNoTimer = INT64_MAX;
/// A window that is never full.
inline constexpr double kNoWindow = std::numeric_limits<double>::infinity();

/// A RocePath is what a queue pair knows of its path before anything is sent.
struct RocePath
{
    double lineRate = 0;       ///< of the NIC's port, bit/s
    Picoseconds roundTrip = 0; ///< T of an idle network: a full frame there, its ACK back
    int64_t frameBytes = 0;    ///< a full frame on the wire
    int switches = 0;          ///< on the way there
};

/// A RoceState is what a queue pair may do now. Controls append what they remember.
struct RoceState
{
    double rate = 0;              ///< bit/s on the wire, > 0
    double window = kNoWindow;    ///< bytes on the wire that may be in flight, > 0
    Picoseconds timer = kNoTimer; ///< when to call OnTimer
};

inline constexpr size_t kRoceStateAlignment = alignof(std::max_align_t);

/// A RoceSent tells of a frame that the NIC has begun to send, or sends again.
struct RoceSent
{
    Picoseconds now = 0; ///< its begin
    int64_t bytes = 0;   ///< on the wire
};

/// A RoceAck tells of an ACK. It answers the frame whose arrival made the receiver send it.
struct RoceAck
{
    Picoseconds now = 0;
    Picoseconds sent = 0;          ///< when the answered frame began to leave the NIC
    Picoseconds receiverDelay = 0; ///< from its arrival to the ACK's begin
    int64_t answeredBytes = 0;     ///< the answered frame on the wire
    int64_t payload = 0;           ///< payload bytes that are acknowledged for the first time
    int frames = 0;                ///< frames that are acknowledged for the first time
    bool endsMessage = false;      ///< the last frame of a message is among them
    /// Sequence number up to which all is acknowledged (exclusive), and that of the next new frame.
    uint64_t acknowledged = 0;
    uint64_t next = 0;
    uint16_t pathId = 0; ///< of the switches that wrote `records`
    int switches = 0;    ///< number of `records`; 0 without telemetry
    const IntRecord* records = nullptr;

    /// Returns the round trip without what the receiver took.
    Picoseconds RoundTrip() const
    {
        return now - sent - receiverDelay;
    }
};

/// A RoceLoss tells of a loss that the NIC has noticed.
struct RoceLoss
{
    Picoseconds now = 0;
    bool timeout = false; ///< by time-out; else by a NAK or a selective ACK
};

/// RoceTraits are what always holds for a control, which NICs, switches and other engines ask.
struct RoceTraits
{
    /// Receivers answer marked frames by CNPs, at most one in `cnpInterval` for each queue pair.
    bool notifications = false;
    Picoseconds cnpInterval = 0;
    bool cnpWindows = false; ///< marks within an interval are answered at its end (notifier.h)
    bool telemetry = false;  ///< switches add an IntRecord to data frames, and ACKs bring them back
    bool telemetryOnWire = false; ///< records are rounded as their bits are, with codes of rates
    bool everyFrame = false;      ///< each frame needs an ACK of its own
    bool restarts = false;        ///< Begin after an idle time
    /// Payload bytes that leave back to back at line rate before the NIC waits for what `rate`
    /// allows; 0: each frame waits for itself.
    int64_t burstBytes = 0;
    double utilisation = 1; ///< share of a link that long flows fill; for engines without packets
};

/// A RoceControl is a congestion control with its parameters. It has no state of its own.
class RoceControl
{
  public:
    virtual ~RoceControl() = default;

    virtual const RoceTraits& Traits() const = 0;
    /// Returns the bytes of the state of a queue pair whose path has that number of switches.
    virtual size_t StateBytes(int switches) const = 0;
    /// Makes the state of a new queue pair at the beginning of `memory`. It needs no destruction.
    virtual RoceState* Begin(void* memory, const RocePath& path, Picoseconds now) const = 0;

    /// Tell the control what happened. `now` never goes back for a queue pair.
    virtual void OnSent(RoceState& state, const RoceSent& sent) const;
    virtual void OnAck(RoceState& state, const RoceAck& ack) const;
    virtual void OnCnp(RoceState& state, Picoseconds now) const;
    virtual void OnLoss(RoceState& state, const RoceLoss& loss) const;
    virtual void OnTimer(RoceState& state, Picoseconds now) const;
};

} // namespace legacy::fabric
