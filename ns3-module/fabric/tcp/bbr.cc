// BBR, version 1 (Cardwell et al., ACM Queue 14(5), 2016;
// draft-cardwell-iccrg-bbr-congestion-control-00): the window is a multiple of the bottleneck's
// rate, which is the most that was delivered in ten round trips, times the least round trip of ten
// seconds; segments leave at a pace that probes for more, and drains what that has queued.
#include "controls.h"

#include "base/hash.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace legacy::fabric
{

TcpControlRow BbrRow();

namespace
{

constexpr double kHighGain = 2.885; ///< 2 / ln 2: doubles the rate in each round trip
constexpr double kWindowGain = 2;   ///< for ACKs that are delayed or come together
constexpr std::array<double, 8> kCycle{1.25, 0.75, 1, 1, 1, 1, 1, 1}; ///< gains of PROBE_BW
constexpr double kPaceMargin = 0.99;   ///< of the pace, so that no queue builds up
constexpr uint32_t kLeastInFlight = 4; ///< segments in flight
constexpr double kGrowth = 1.25;       ///< of the rate in a round trip while the pipe is not full
constexpr int kRoundsWithoutGrowth = 3;
constexpr uint64_t kRateRounds = 10;
constexpr TimeNs kRoundTripAge = 10'000'000'000;
constexpr TimeNs kProbeTime = 200'000'000; ///< in which the queue is to be empty
constexpr double kBurstTime = 1e-3;        ///< segments of a burst leave in that time (Linux: TSO)
constexpr double kBursts = 3; ///< beside the window: at the sender, receiver, on the way

class Bbr : public TcpCongestion
{
  public:
    void OnOpen(const TcpWindow& window) override
    {
        m_pace = Pace(window);
    }

    void OnRestart() override
    {
        m_restarts = true;
        if (m_mode == Mode::ProbeRate && Rate() > 0)
        {
            m_pace = Rate() * kPaceMargin;
        }
    }

    void Grow(TcpWindow&, const TcpAck&) override
    {
    }

    bool OwnsWindow() const override
    {
        return true;
    }

    uint32_t Threshold(const TcpWindow& window) override
    {
        Keep(window);
        return window.threshold;
    }

    void OnTimeout() override
    {
        m_full = 0;
        m_conserves = false;
    }

    double Pace(const TcpWindow& window) const override
    {
        if (m_pace > 0)
        {
            return m_pace;
        }
        const double roundTrip = window.smoothed > 0 ? InSeconds(window.smoothed) : 1e-3;
        return kHighGain * window.segments / roundTrip;
    }

    uint32_t Burst() const override
    {
        return static_cast<uint32_t>(std::max(2.0, std::floor(m_pace * kBurstTime)));
    }

    void Control(TcpWindow& window, const TcpAck& ack) override
    {
        if (m_pace == 0)
        {
            m_pace = Pace(window);
        }
        if (m_leastAt == 0)
        {
            m_leastAt = ack.now;
        }
        Sample(ack);
        Cycle(ack);
        CheckFull(ack);
        LeaveStartup(ack);
        ProbeRoundTrip(window, ack);
        SetPace();
        SetWindow(window, ack);
    }

  private:
    enum class Mode : uint8_t
    {
        Startup,
        Drain,
        ProbeRate,
        ProbeRoundTrip,
    };

    double Rate() const ///< segments a second
    {
        return *std::max_element(m_rates.begin(), m_rates.end());
    }

    double Product(double gain) const ///< segments
    {
        return m_least == kNever ? 10 * gain : gain * Rate() * InSeconds(m_least);
    }

    void Sample(const TcpAck& ack)
    {
        m_roundStarts = false;
        if (ack.rate.interval <= 0)
        {
            return;
        }
        if (ack.rate.before >= m_roundEnd)
        {
            m_roundEnd = ack.rate.delivered;
            m_roundStarts = true;
            m_conserves = false;
            ++m_round;
            m_rates[m_round % kRateRounds] = 0;
        }
        const double rate = static_cast<double>(ack.rate.delivered - ack.rate.before) /
                            InSeconds(ack.rate.interval);
        if (!ack.rate.limited || rate >= Rate())
        {
            double& most = m_rates[m_round % kRateRounds];
            most = std::max(most, rate);
        }
    }

    void Cycle(const TcpAck& ack)
    {
        if (m_mode != Mode::ProbeRate)
        {
            return;
        }
        const double gain = kCycle[m_phase];
        const bool whole = ack.now - m_phaseAt > m_least;
        // The phase has reached the bytes that were in flight before this ACK.
        const uint32_t before = ack.inFlight + ack.acked;
        const bool next = gain == 1  ? whole
                          : gain > 1 ? whole && (ack.lost > 0 || before >= Target(gain))
                                     : whole || before <= Target(1);
        if (next)
        {
            m_phase = (m_phase + 1) % kCycle.size();
            m_phaseAt = ack.now;
        }
    }

    void CheckFull(const TcpAck& ack)
    {
        if (m_pipeIsFull || !m_roundStarts || ack.rate.limited)
        {
            return;
        }
        if (Rate() >= kGrowth * m_full)
        {
            m_full = Rate();
            m_rounds = 0;
            return;
        }
        m_pipeIsFull = ++m_rounds >= kRoundsWithoutGrowth;
    }

    void LeaveStartup(const TcpAck& ack)
    {
        if (m_mode == Mode::Startup && m_pipeIsFull)
        {
            m_mode = Mode::Drain;
        }
        if (m_mode == Mode::Drain && ack.inFlight <= Target(1))
        {
            ProbeRate(ack.now);
        }
    }

    /// Begins a cycle at any phase but that which drains.
    void ProbeRate(TimeNs now)
    {
        m_mode = Mode::ProbeRate;
        const uint64_t draw = HashWords({static_cast<uint64_t>(now), m_round}) % 7;
        m_phase = (kCycle.size() - draw) % kCycle.size();
        m_phaseAt = now;
    }

    void ProbeRoundTrip(TcpWindow& window, const TcpAck& ack)
    {
        const bool old = ack.now > m_leastAt + kRoundTripAge;
        if (ack.roundTrip > 0 && (ack.roundTrip < m_least || old))
        {
            m_least = ack.roundTrip;
            m_leastAt = ack.now;
        }
        if (old && !m_restarts && m_mode != Mode::ProbeRoundTrip)
        {
            m_mode = Mode::ProbeRoundTrip;
            Keep(window);
            m_probeEnd = 0;
        }
        m_restarts = m_restarts && ack.acked == 0;
        if (m_mode != Mode::ProbeRoundTrip)
        {
            return;
        }
        if (m_probeEnd == 0)
        {
            if (ack.inFlight <= kLeastInFlight)
            {
                m_probeEnd = ack.now + kProbeTime;
                m_probeRound = false;
                m_roundEnd = ack.rate.delivered;
            }
            return;
        }
        m_probeRound = m_probeRound || m_roundStarts;
        if (m_probeRound && ack.now > m_probeEnd)
        {
            m_leastAt = ack.now;
            window.segments = std::max(window.segments, m_kept);
            if (m_pipeIsFull)
            {
                ProbeRate(ack.now);
            }
            else
            {
                m_mode = Mode::Startup;
            }
        }
    }

    double PaceGain() const
    {
        switch (m_mode)
        {
        case Mode::Startup:
            return kHighGain;
        case Mode::Drain:
            return 1 / kHighGain;
        case Mode::ProbeRate:
            return kCycle[m_phase];
        default:
            return 1;
        }
    }

    void SetPace()
    {
        const double pace = PaceGain() * Rate() * kPaceMargin;
        if (pace > 0 && (m_pipeIsFull || pace > m_pace))
        {
            m_pace = pace;
        }
    }

    /// Returns the segments that make use of a path, with those of bursts.
    uint32_t Target(double gain) const
    {
        auto target = static_cast<uint32_t>(std::ceil(Product(gain)) + kBursts * Burst());
        target = (target + 1) & ~1U; // delayed ACKs answer two
        const bool probes = m_mode == Mode::ProbeRate && m_phase == 0;
        return target + (probes ? 2 : 0);
    }

    /// Keeps the window for the time after a loss or a probe.
    void Keep(const TcpWindow& window)
    {
        m_kept = m_recovers || m_mode == Mode::ProbeRoundTrip ? std::max(m_kept, window.segments)
                                                              : window.segments;
    }

    /// Returns true if the window is that of a recovery, in which as much leaves as arrives.
    bool Recovers(TcpWindow& window, const TcpAck& ack)
    {
        if (ack.lost > 0)
        {
            window.segments = window.segments > ack.lost ? window.segments - ack.lost : 1;
        }
        if (ack.recovering && !m_recovers)
        {
            m_conserves = true;
            m_roundEnd = ack.rate.delivered;
            window.segments = ack.inFlight + ack.acked;
        }
        else if (!ack.recovering && m_recovers)
        {
            window.segments = std::max(window.segments, m_kept);
            m_conserves = false;
        }
        m_recovers = ack.recovering;
        if (m_conserves)
        {
            window.segments = std::max(window.segments, ack.inFlight + ack.acked);
        }
        return m_conserves;
    }

    void SetWindow(TcpWindow& window, const TcpAck& ack)
    {
        constexpr uint64_t kFirst = 10; // segments: the initial window
        if (ack.acked > 0 && !Recovers(window, ack))
        {
            const uint32_t target =
                Target(m_mode == Mode::Startup || m_mode == Mode::Drain ? kHighGain : kWindowGain);
            if (m_pipeIsFull)
            {
                window.segments = std::min(window.segments + ack.acked, target);
            }
            else if (window.segments < target || ack.rate.delivered < kFirst)
            {
                window.segments += ack.acked;
            }
            window.segments = std::max(window.segments, kLeastInFlight);
        }
        if (m_mode == Mode::ProbeRoundTrip)
        {
            window.segments = std::min(window.segments, kLeastInFlight);
        }
    }

    Mode m_mode = Mode::Startup;
    bool m_pipeIsFull = false;
    bool m_roundStarts = false;
    bool m_conserves = false;  ///< as much leaves as arrives
    bool m_recovers = false;   ///< it did at the last ACK
    bool m_restarts = false;   ///< it was idle, and nothing has arrived since
    bool m_probeRound = false; ///< a round trip has passed with few segments in flight
    int m_rounds = 0;          ///< round trips in which the rate has not grown
    uint32_t m_kept = 0;       ///< window before a loss or a probe
    size_t m_phase = 0;
    uint64_t m_round = 0;
    uint64_t m_roundEnd = 0;                   ///< segments delivered at its end
    std::array<double, kRateRounds> m_rates{}; ///< most of each of the last round trips
    double m_full = 0;                         ///< rate at the last growth
    double m_pace = 0;
    TimeNs m_least = kNever; ///< least round-trip time
    TimeNs m_leastAt = 0;
    TimeNs m_phaseAt = 0;
    TimeNs m_probeEnd = 0; ///< 0: segments are still to arrive first
};

} // namespace

TcpControlRow BbrRow()
{
    return {"bbr",
            "Cardwell et al., BBR: congestion-based congestion control, ACM Queue 2016",
            "ns3::TcpBbr",
            []() -> std::unique_ptr<TcpCongestion> { return std::make_unique<Bbr>(); }};
}

} // namespace legacy::fabric
