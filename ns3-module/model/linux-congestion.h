/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_LINUX_CONGESTION_H
#define LEGACY_LINUX_CONGESTION_H

#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-socket-state.h"

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Congestion control as in today's stacks. Slow start may be HyStart++ (RFC 9406), which ends when
 * round-trip times grow, together with the ACK trains of Linux's HyStart. Subclasses implement
 * congestion avoidance.
 *
 * A HostSocket reports every round-trip time (OnRoundTrip); PktsAcked gets only smoothed ones.
 */
class LinuxCongestion : public ns3::TcpCongestionOps
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();

    /**
     * \param state of the socket
     * \param roundTrip a sample that is not smoothed
     */
    void OnRoundTrip(ns3::Ptr<ns3::TcpSocketState> state, const ns3::Time& roundTrip);

    void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> state, uint32_t segmentsAcked) override;
    void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> state,
                            const ns3::TcpSocketState::TcpCongState_t newState) override;

  protected:
    /**
     * Grows the window in congestion avoidance.
     * \param state of the socket
     * \param segmentsAcked segments that an ACK acknowledged, at least 1
     */
    virtual void Avoid(ns3::Ptr<ns3::TcpSocketState> state, uint32_t segmentsAcked) = 0;
    /// Called when a retransmission timer has expired.
    virtual void Reset();
    /**
     * Adds a part of a segment to the window, which grows by whole segments.
     * \param state of the socket
     * \param segments part of a segment
     */
    void Grow(ns3::Ptr<ns3::TcpSocketState> state, double segments);

    bool m_hyStart{false}; //!< slow start also ends by round-trip times

  private:
    /**
     * \param state of the socket
     * \return true if ACKs have come without a pause for half of the least round-trip time: the
     * window then fills the path (Ha and Rhee, PFLDnet'08; Linux)
     */
    bool OnTrain(ns3::Ptr<ns3::TcpSocketState> state);
    /// Begins the next round trip of slow start.
    void NextRound(ns3::Ptr<ns3::TcpSocketState> state);
    /**
     * \param state of the socket
     * \param segmentsAcked segments that an ACK acknowledged
     * \return the number of them that are left for congestion avoidance
     */
    uint32_t SlowStart(ns3::Ptr<ns3::TcpSocketState> state, uint32_t segmentsAcked);

    // The names follow RFC 9406, section 4.
    bool m_inRound{false};                      //!< true once a first round has begun
    ns3::SequenceNumber32 m_windowEnd{0};       //!< an ACK of this byte ends the round
    ns3::Time m_lastRound{ns3::Time::Max()};    //!< least round-trip time of the round before
    ns3::Time m_currentRound{ns3::Time::Max()}; //!< least round-trip time of this round
    ns3::Time m_roundStart;                     //!< time at which this round began
    ns3::Time m_lastAck;                        //!< time of the last ACK of the train
    uint32_t m_samples{0};                  //!< number of round-trip times measured in this round
    bool m_conservative{false};             //!< true in conservative slow start
    uint32_t m_conservativeRounds{0};       //!< rounds since it began
    ns3::Time m_baseline{ns3::Time::Max()}; //!< least round-trip time when it began
    double m_part{0}; //!< part of a segment that is not yet added to the window
};

/**
 * \ingroup legacy
 * Reno (RFC 5681, with the byte counting of RFC 3465) without HyStart++, as in Linux.
 */
class LinuxReno : public LinuxCongestion
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();

    std::string GetName() const override;
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state,
                         uint32_t bytesInFlight) override;
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

  protected:
    void Avoid(ns3::Ptr<ns3::TcpSocketState> state, uint32_t segmentsAcked) override;
};

/**
 * \ingroup legacy
 * Cubic (RFC 9438) with its Reno-friendly region and fast convergence, and with HyStart++. Windows
 * are in segments, times in seconds.
 */
class LinuxCubic : public LinuxCongestion
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();

    std::string GetName() const override;
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state,
                         uint32_t bytesInFlight) override;
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

  protected:
    void Avoid(ns3::Ptr<ns3::TcpSocketState> state, uint32_t segmentsAcked) override;
    void Reset() override;

  private:
    double m_windowMax{0};  //!< window before the last reduction
    double m_origin{0};     //!< window of the plateau
    double m_k{0};          //!< seconds from the epoch's start to the plateau
    double m_reno{0};       //!< window that Reno would have
    bool m_inEpoch{false};  //!< true since the first ACK of congestion avoidance
    ns3::Time m_epochStart; //!< time of that ACK
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_LINUX_CONGESTION_H
