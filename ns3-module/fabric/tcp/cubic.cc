// Cubic (RFC 9438) with its Reno-friendly region and fast convergence. Slow start is HyStart++ (RFC
// 9406), together with the ACK trains of Linux's HyStart (Ha and Rhee, PFLDnet'08).
#include "controls.h"

#include "fabric/engine/cubic.h"

#include <algorithm>
#include <cmath>

namespace legacy::fabric
{

TcpControlRow CubicRow();

namespace
{

// RFC 9406, section 4.3.
constexpr TimeNs kLeastThreshold = 4'000'000;
constexpr TimeNs kMostThreshold = 16'000'000;
constexpr TimeNs kRoundTripDivisor = 8;
constexpr uint32_t kRoundTripSamples = 8;
constexpr double kConservativeDivisor = 4;
constexpr uint32_t kConservativeRounds = 5;

constexpr double kMostGrowth = 1.5; ///< of the window in a round trip (RFC 9438, section 4.2)

/// HyStart ends slow start before it loses segments.
class HyStart
{
  public:
    /// Sees an ACK of slow start. Returns true where slow start ends now.
    bool Ends(const TcpWindow& window, const TcpAck& ack)
    {
        if (!m_inRound || ack.acknowledged > m_windowEnd)
        {
            NextRound(ack);
            if (m_conservative && ++m_conservativeRounds > kConservativeRounds)
            {
                return true;
            }
        }
        if (OnTrain(window, ack.now))
        {
            return true;
        }
        m_currentRound = std::min(m_currentRound, ack.roundTrip);
        m_samples += ack.acks;
        if (m_samples >= kRoundTripSamples)
        {
            Judge();
        }
        return false;
    }

    bool IsConservative() const
    {
        return m_conservative;
    }

  private:
    void NextRound(const TcpAck& ack)
    {
        m_inRound = true;
        m_windowEnd = ack.next;
        m_roundStart = m_lastAck = ack.now;
        m_lastRound = m_currentRound;
        m_currentRound = kNever;
        m_samples = 0;
    }

    /// Returns true if ACKs have come without a pause for half of the least round-trip time: the
    /// window then fills the path.
    bool OnTrain(const TcpWindow& window, TimeNs now)
    {
        constexpr uint32_t kLeastWindow = 16; // Linux: hystart_low_window
        constexpr TimeNs kGap = 2'000'000;    // Linux: hystart_ack_delta_us
        if (now - m_lastAck > kGap)
        {
            return false; // the train of ACKs has ended
        }
        m_lastAck = now;
        return window.segments >= kLeastWindow && 2 * (now - m_roundStart) > window.least;
    }

    void Judge()
    {
        if (m_conservative)
        {
            // The queue was not caused by this connection, or is gone.
            m_conservative = m_currentRound >= m_baseline;
            return;
        }
        if (m_lastRound == kNever)
        {
            return;
        }
        const TimeNs threshold =
            std::clamp(m_lastRound / kRoundTripDivisor, kLeastThreshold, kMostThreshold);
        if (m_currentRound >= m_lastRound + threshold)
        {
            m_conservative = true;
            m_conservativeRounds = 0;
            m_baseline = m_currentRound;
        }
    }

    // The names follow RFC 9406, section 4.
    bool m_inRound = false;      ///< a first round has begun
    bool m_conservative = false; ///< in conservative slow start
    uint32_t m_samples = 0;      ///< round-trip times measured in this round
    uint32_t m_conservativeRounds = 0;
    uint64_t m_windowEnd = 0;       ///< an ACK beyond this byte ends the round
    TimeNs m_lastRound = kNever;    ///< least round-trip time of the round before
    TimeNs m_currentRound = kNever; ///< least round-trip time of this round
    TimeNs m_baseline = kNever;     ///< least round-trip time when conservative slow start began
    TimeNs m_roundStart = 0;
    TimeNs m_lastAck = 0; ///< last ACK of the train
};

class Cubic : public TcpCongestion
{
  public:
    void OnAck(TcpWindow& window, const TcpAck& ack) override
    {
        if (ack.open && ack.roundTrip > 0 && window.InSlowStart() && m_start.Ends(window, ack))
        {
            window.threshold = window.segments;
        }
    }

    void Grow(TcpWindow& window, const TcpAck& ack) override
    {
        uint32_t left = ack.acked;
        if (window.InSlowStart())
        {
            if (m_start.IsConservative())
            {
                Add(window, left / kConservativeDivisor);
                return;
            }
            left = Double(window, left);
        }
        if (left > 0 && !window.InSlowStart())
        {
            Avoid(window, ack, left);
        }
    }

    uint32_t Threshold(const TcpWindow& window) override
    {
        const double segments = window.segments;
        // Fast convergence (section 4.7): if the window is reduced below the last maximum, it
        // leaves room for others.
        m_windowMax = segments < m_windowMax ? segments * (1 + kCubicKeeps) / 2 : segments;
        m_inEpoch = false;
        return std::max<uint32_t>(2, static_cast<uint32_t>(segments * kCubicKeeps));
    }

    void OnTimeout() override
    {
        TcpCongestion::OnTimeout();
        m_start = HyStart();
        m_inEpoch = false;
        m_windowMax = 0;
    }

  private:
    void Avoid(TcpWindow& window, const TcpAck& ack, uint32_t acked)
    {
        const double segments = window.segments;
        if (!m_inEpoch)
        {
            m_inEpoch = true;
            m_epochStart = ack.now;
            m_reno = segments;
            m_origin = std::max(m_windowMax, segments);
            m_k = std::cbrt((m_origin - segments) / kCubicGrowth);
        }
        // Section 4.2: the window that the connection should have one round trip from now.
        const double time = InSeconds(ack.now - m_epochStart + window.smoothed) - m_k;
        const double cubic = kCubicGrowth * time * time * time + m_origin;
        // Section 4.3: the window that Reno would have by now. Linux keeps Reno's slope even beyond
        // the window before the last reduction, where the RFC sets it to 1.
        m_reno += kCubicFriendlyGrowth * acked / segments;
        const double target = std::clamp(std::max(cubic, m_reno), segments, kMostGrowth * segments);
        Add(window, (target - segments) / segments * acked);
    }

    HyStart m_start;
    bool m_inEpoch = false; ///< since the first ACK of congestion avoidance
    double m_windowMax = 0; ///< window before the last reduction
    double m_origin = 0;    ///< window of the plateau
    double m_k = 0;         ///< seconds from the epoch's start to the plateau
    double m_reno = 0;      ///< window that Reno would have
    TimeNs m_epochStart = 0;
};

} // namespace

TcpControlRow CubicRow()
{
    return {"cubic",
            "RFC 9438, RFC 9406",
            "legacy::LinuxCubic",
            []() -> std::unique_ptr<TcpCongestion> { return std::make_unique<Cubic>(); }};
}

} // namespace legacy::fabric
