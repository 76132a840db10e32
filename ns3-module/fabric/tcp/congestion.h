// The contract of congestion controls of TCP: how many segments a connection may have in flight,
// from ACKs, losses and marks.
//
// A control is the state of one connection. The connection calls
//
//   OnOpen     when its handshake has measured a round trip;
//   OnRestart  before it sends with nothing in flight, as the application had nothing to send;
//   OnAck      for every ACK that acknowledges something new, by its number or by SACK;
//   Grow       after it, unless the connection is reducing its window;
//   Threshold  when it notices losses or marks: the window to which it reduces (RFC 6937);
//   OnTimeout  when its retransmission timer has expired, after Threshold;
//   Control    in the place of Grow, whatever was lost, where the control owns the window.
//
// Windows are in segments, times in nanoseconds.
#pragma once

#include "base/units.h"

#include <cstdint>

namespace legacy::fabric
{

/// The threshold of a connection that has lost nothing yet.
inline constexpr uint32_t kNoThreshold = UINT32_MAX;

/// TcpWindow is what a control reads and sets.
struct TcpWindow
{
    uint32_t segments = 0;             ///< the congestion window
    uint32_t threshold = kNoThreshold; ///< where slow start ends
    TimeNs smoothed = 0;               ///< smoothed round-trip time; 0: none was measured yet
    TimeNs least = kNever;             ///< least round-trip time

    bool InSlowStart() const
    {
        return segments < threshold;
    }
};

/// TcpRate says how fast segments arrived since the newest acknowledged one was sent (Cheng et al.,
/// draft-cheng-iccrg-delivery-rate-estimation).
struct TcpRate
{
    uint64_t delivered = 0; ///< segments that have ever arrived
    uint64_t before = 0;    ///< those that had when that one was sent
    TimeNs interval = 0;    ///< time in which the others arrived; 0: there is no sample
    bool limited = false;   ///< the application had nothing to send
};

/// TcpAck tells of an ACK.
struct TcpAck
{
    TimeNs now = 0;
    uint32_t acked = 0;        ///< segments that are acknowledged for the first time
    uint32_t acks = 1;         ///< number of ACKs that came as one
    uint32_t marked = 0;       ///< those of them that switches marked
    TimeNs roundTrip = 0;      ///< of the newest of them; 0: none, as they were sent twice
    uint64_t acknowledged = 0; ///< byte up to which all have arrived
    uint64_t next = 0;         ///< byte that is sent next for the first time
    bool open = true;          ///< the connection has noticed no loss and no mark
    bool recovering = false;   ///< it sends again what was lost
    uint32_t lost = 0;         ///< segments that were found to be lost now
    uint32_t inFlight = 0;     ///< segments on their way
    TcpRate rate;
};

/// A TcpCongestion is the congestion control of one connection.
class TcpCongestion
{
  public:
    virtual ~TcpCongestion() = default;

    virtual void OnOpen(const TcpWindow& window);
    virtual void OnRestart();
    virtual void OnAck(TcpWindow& window, const TcpAck& ack);
    virtual void Grow(TcpWindow& window, const TcpAck& ack) = 0;
    /// Returns the window to which the connection reduces, 2 segments or more.
    virtual uint32_t Threshold(const TcpWindow& window) = 0;
    virtual void OnTimeout();

    /// Returns whether it sets the window itself, also while segments are lost, and paces them.
    virtual bool OwnsWindow() const
    {
        return false;
    }
    virtual void Control(TcpWindow& window, const TcpAck& ack);
    /// Returns the segments that may leave in a second; 0: as many as the window has.
    virtual double Pace(const TcpWindow& window) const;
    /// Returns how many of them leave at once, 1 or more, before the time of all of them passes.
    virtual uint32_t Burst() const;

  protected:
    /// Adds a part of a segment to the window, which grows by whole segments.
    void Add(TcpWindow& window, double segments);
    /// Grows the window in slow start, up to the threshold. Returns the acknowledged segments that
    /// are left for congestion avoidance.
    static uint32_t Double(TcpWindow& window, uint32_t acked);

    double m_part = 0; ///< part of a segment that is not yet added
};

} // namespace legacy::fabric
