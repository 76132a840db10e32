// The progress of the flow that a connection of the flow engine sends. Internal to fabric/.
#pragma once

#include "base/units.h"

#include <algorithm>

namespace legacy::fabric
{

/// A FlowProgress counts the bytes that are left of one flow, at a rate that changes. It may stop
/// before the end of the flow, where the connection loses a packet.
class FlowProgress
{
  public:
    /// Begins a flow of that many bytes on the wire. It has no rate yet.
    void Begin(double bytes, TimeNs now)
    {
        m_left = bytes;
        m_since = now;
        m_rate = 0;
    }

    /// Takes a rate in bytes a nanosecond from now on.
    void SetRate(double rate, TimeNs now)
    {
        // Rounding may leave a rate below this on a link without capacity, which counts as none; a
        // line of 1 bit/s has 1.25e-10.
        constexpr double kNoRate = 1e-12;
        m_left = Left(now);
        m_since = now;
        m_rate = rate < kNoRate ? 0 : rate;
        m_end =
            m_rate > 0 ? Later(now, RoundedTime(std::max(0.0, m_left - m_stop) / m_rate)) : kNever;
    }

    double Rate() const
    {
        return m_rate;
    }

    /// Returns the bytes that have not left.
    double Left(TimeNs now) const
    {
        return m_left - m_rate * static_cast<double>(now - m_since);
    }

    /// Returns the time of the stop, or of the end of the flow, at the present rate.
    TimeNs End() const
    {
        return m_end;
    }

    /// Stops once `bytes` more have left, or before where the flow ends; and counts from here.
    void StopAfter(double bytes, TimeNs now)
    {
        m_mark = Left(now);
        m_stop = std::max(0.0, m_mark - bytes);
    }

    /// Counts from here, and does not stop before the flow ends.
    void RunToEnd(TimeNs now)
    {
        m_mark = Left(now);
        m_stop = 0;
    }

    /// Returns true where a stop comes before the end of the flow.
    bool Stops() const
    {
        return m_stop > 0;
    }

    /// Notes that the stop is reached now.
    void ReachStop(TimeNs now)
    {
        m_left = m_stop;
        m_since = now;
    }

    /// Returns the bytes that have left since it began to count, and forgets the stop.
    double TakeCounted(TimeNs now)
    {
        m_stop = 0;
        return m_mark - std::max(0.0, Left(now));
    }

  private:
    double m_rate = 0; ///< wire bytes a nanosecond
    double m_left = 0; ///< wire bytes of the flow, as of m_since
    double m_stop = 0; ///< value of `left` at the stop; 0: the flow ends before
    TimeNs m_since = 0;
    TimeNs m_end = 0;
    double m_mark = 0; ///< value of `left` at which it began to count
};

} // namespace legacy::fabric
