/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "linux-congestion.h"

#include "fabric/engine/cubic.h"

#include "ns3/boolean.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace legacy
{
namespace packet
{

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(LinuxCongestion);
NS_OBJECT_ENSURE_REGISTERED(LinuxReno);
NS_OBJECT_ENSURE_REGISTERED(LinuxCubic);

namespace
{

// RFC 9406, section 4.3.
const Time kLeastThreshold = MilliSeconds(4);
const Time kMostThreshold = MilliSeconds(16);
constexpr int64_t kRoundTripDivisor = 8;
constexpr uint32_t kRoundTripSamples = 8;
constexpr double kConservativeDivisor = 4;
constexpr uint32_t kConservativeRounds = 5;

constexpr double kMostGrowth = 1.5; ///< of the window in a round trip (RFC 9438, 4.2)

constexpr uint32_t kLeastSegments = 2;

double Segments(const TcpSocketState& state)
{
    return static_cast<double>(state.m_cWnd.Get()) / state.m_segmentSize;
}

uint32_t Reduced(const TcpSocketState& state, double factor)
{
    const auto reduced = static_cast<uint32_t>(factor * state.m_cWnd.Get());
    return std::max(kLeastSegments * state.m_segmentSize, reduced);
}

} // namespace

// ---------------------------------------------------------------------------------------------
// Slow start
// ---------------------------------------------------------------------------------------------

TypeId LinuxCongestion::GetTypeId()
{
    static TypeId tid =
        TypeId("legacy::LinuxCongestion").SetParent<TcpCongestionOps>().SetGroupName("Legacy");
    return tid;
}

void LinuxCongestion::NextRound(Ptr<TcpSocketState> state)
{
    m_windowEnd = state->m_highTxMark;
    m_roundStart = m_lastAck = Simulator::Now();
    m_lastRound = m_currentRound;
    m_currentRound = Time::Max();
    m_samples = 0;
    if (m_conservative && ++m_conservativeRounds > kConservativeRounds)
    {
        state->m_ssThresh = state->m_cWnd.Get();
    }
}

bool LinuxCongestion::OnTrain(Ptr<TcpSocketState> state)
{
    constexpr uint32_t kLeastWindow = 16; // segments; Linux: hystart_low_window
    constexpr int64_t kPart = 2;
    const Time gap = MilliSeconds(2); // Linux: hystart_ack_delta_us
    const Time now = Simulator::Now();
    if (now - m_lastAck > gap)
    {
        return false; // the train of ACKs has ended
    }
    m_lastAck = now;
    return state->m_cWnd >= kLeastWindow * state->m_segmentSize &&
           kPart * (now - m_roundStart) > state->m_minRtt;
}

void LinuxCongestion::OnRoundTrip(Ptr<TcpSocketState> state, const Time& roundTrip)
{
    if (!m_hyStart || state->m_cWnd >= state->m_ssThresh ||
        state->m_congState != TcpSocketState::CA_OPEN)
    {
        return;
    }
    if (!m_inRound || state->m_lastAckedSeq >= m_windowEnd)
    {
        m_inRound = true;
        NextRound(state);
    }
    if (OnTrain(state))
    {
        state->m_ssThresh = state->m_cWnd.Get();
        return;
    }
    m_currentRound = Min(m_currentRound, roundTrip);
    if (++m_samples < kRoundTripSamples)
    {
        return;
    }
    if (m_conservative)
    {
        // The queue was not caused by this connection, or is gone.
        m_conservative = m_currentRound >= m_baseline;
        return;
    }
    if (m_lastRound == Time::Max())
    {
        return;
    }
    const Time part = NanoSeconds(m_lastRound.GetNanoSeconds() / kRoundTripDivisor);
    const Time threshold = Max(kLeastThreshold, Min(part, kMostThreshold));
    if (m_currentRound >= m_lastRound + threshold)
    {
        m_conservative = true;
        m_conservativeRounds = 0;
        m_baseline = m_currentRound;
    }
}

uint32_t LinuxCongestion::SlowStart(Ptr<TcpSocketState> state, uint32_t segmentsAcked)
{
    if (m_conservative)
    {
        Grow(state, segmentsAcked / kConservativeDivisor);
        return 0;
    }
    const uint32_t before = state->m_cWnd;
    const uint64_t wanted = uint64_t{before} + uint64_t{segmentsAcked} * state->m_segmentSize;
    state->m_cWnd = static_cast<uint32_t>(std::min<uint64_t>(wanted, state->m_ssThresh.Get()));
    return segmentsAcked - (state->m_cWnd - before) / state->m_segmentSize;
}

void LinuxCongestion::IncreaseWindow(Ptr<TcpSocketState> state, uint32_t segmentsAcked)
{
    if (state->m_cWnd < state->m_ssThresh)
    {
        segmentsAcked = SlowStart(state, segmentsAcked);
    }
    if (segmentsAcked > 0 && state->m_cWnd >= state->m_ssThresh)
    {
        Avoid(state, segmentsAcked);
    }
}

void LinuxCongestion::Grow(Ptr<TcpSocketState> state, double segments)
{
    m_part += segments;
    const double whole = std::floor(m_part);
    m_part -= whole;
    state->m_cWnd += static_cast<uint32_t>(whole) * state->m_segmentSize;
}

void LinuxCongestion::CongestionStateSet(Ptr<TcpSocketState>,
                                         const TcpSocketState::TcpCongState_t newState)
{
    if (newState == TcpSocketState::CA_LOSS)
    {
        Reset();
    }
}

void LinuxCongestion::Reset()
{
    m_inRound = false;
    m_conservative = false;
    m_lastRound = Time::Max();
    m_currentRound = Time::Max();
    m_part = 0;
}

// ---------------------------------------------------------------------------------------------
// Reno
// ---------------------------------------------------------------------------------------------

TypeId LinuxReno::GetTypeId()
{
    static TypeId tid = TypeId("legacy::LinuxReno")
                            .SetParent<LinuxCongestion>()
                            .SetGroupName("Legacy")
                            .AddConstructor<LinuxReno>();
    return tid;
}

std::string LinuxReno::GetName() const
{
    return "LinuxReno";
}

uint32_t LinuxReno::GetSsThresh(Ptr<const TcpSocketState> state, uint32_t)
{
    constexpr double kHalf = 0.5;
    return Reduced(*state, kHalf);
}

void LinuxReno::Avoid(Ptr<TcpSocketState> state, uint32_t segmentsAcked)
{
    Grow(state, segmentsAcked / Segments(*state));
}

Ptr<TcpCongestionOps> LinuxReno::Fork()
{
    return CopyObject<LinuxReno>(this);
}

// ---------------------------------------------------------------------------------------------
// Cubic
// ---------------------------------------------------------------------------------------------

TypeId LinuxCubic::GetTypeId()
{
    static TypeId tid = TypeId("legacy::LinuxCubic")
                            .SetParent<LinuxCongestion>()
                            .SetGroupName("Legacy")
                            .AddConstructor<LinuxCubic>()
                            .AddAttribute("HyStart",
                                          "Leave slow start when round trips grow (RFC 9406).",
                                          BooleanValue(true),
                                          MakeBooleanAccessor(&LinuxCubic::m_hyStart),
                                          MakeBooleanChecker());
    return tid;
}

std::string LinuxCubic::GetName() const
{
    return "LinuxCubic";
}

uint32_t LinuxCubic::GetSsThresh(Ptr<const TcpSocketState> state, uint32_t)
{
    const double window = Segments(*state);
    // Fast convergence (section 4.7): if the window is reduced below the last maximum, it leaves
    // room for others.
    m_windowMax = window < m_windowMax ? window * (1 + fabric::kCubicKeeps) / 2 : window;
    m_inEpoch = false;
    return Reduced(*state, fabric::kCubicKeeps);
}

void LinuxCubic::Reset()
{
    LinuxCongestion::Reset();
    m_inEpoch = false;
    m_windowMax = 0;
}

void LinuxCubic::Avoid(Ptr<TcpSocketState> state, uint32_t segmentsAcked)
{
    const double window = Segments(*state);
    if (!m_inEpoch)
    {
        m_inEpoch = true;
        m_epochStart = Simulator::Now();
        m_reno = window;
        m_origin = std::max(m_windowMax, window);
        m_k = std::cbrt((m_origin - window) / fabric::kCubicGrowth);
    }
    // Section 4.2: the window that the connection should have one round trip from now.
    const double time =
        (Simulator::Now() - m_epochStart + state->m_lastRtt.Get()).GetSeconds() - m_k;
    const double cubic = fabric::kCubicGrowth * time * time * time + m_origin;
    // Section 4.3: the window that Reno would have by now. Linux keeps Reno's slope even beyond the
    // window before the last reduction, where the RFC sets it to 1.
    m_reno += fabric::kCubicFriendlyGrowth * segmentsAcked / window;
    const double target = std::clamp(std::max(cubic, m_reno), window, kMostGrowth * window);
    Grow(state, (target - window) / window * segmentsAcked);
}

Ptr<TcpCongestionOps> LinuxCubic::Fork()
{
    return CopyObject<LinuxCubic>(this);
}

} // namespace packet
} // namespace legacy
