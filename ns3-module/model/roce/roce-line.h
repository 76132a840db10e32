/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_LINE_H
#define LEGACY_ROCE_LINE_H

#include "fabric/roce/telemetry.h"

#include <algorithm>
#include <cstdint>

namespace legacy
{
namespace packet
{

using fabric::Picoseconds;

/// A TokenBucket limits what a port sends, as Linux's tbf does: up to `burst` bytes pass at once
/// after an idle time, and then what the rate allows.
class TokenBucket
{
  public:
    /**
     * \param rateBps rate in bit/s, above 0
     * \param burst bytes
     */
    void Set(int64_t rateBps, int64_t burst)
    {
        m_rate = rateBps;
        m_burst = burst;
    }

    /**
     * \param rateBps rate from now on, above 0
     */
    void SetRate(int64_t rateBps)
    {
        m_rate = rateBps;
    }

    /**
     * \return true if the port has a bucket
     */
    bool IsOn() const
    {
        return m_burst > 0;
    }

    /**
     * \param wire bytes of a frame
     * \return the time from which it may leave
     */
    Picoseconds ReadyFor(int64_t wire) const
    {
        return m_full - TimeOf(m_burst - std::min(wire, m_burst));
    }

    /**
     * \param start time at which a frame leaves
     * \param wire its bytes
     */
    void Take(Picoseconds start, int64_t wire)
    {
        m_full = std::max(m_full, start) + TimeOf(wire);
    }

    /**
     * \param bytes tokens
     * \return the time in which the bucket gets them
     */
    Picoseconds TimeOf(int64_t bytes) const
    {
        return static_cast<Picoseconds>(__int128{8} * bytes * 1'000'000'000'000 / m_rate);
    }

  private:
    int64_t m_rate{1};
    int64_t m_burst{0};
    Picoseconds m_full{0}; //!< time at which it is full
};

/// A RoceLine is the wire of one directed link: its rate, and the frames that it loses.
class RoceLine
{
  public:
    /**
     * \param rateBps rate in bit/s, above 0
     */
    void SetRate(int64_t rateBps)
    {
        m_rate = rateBps;
        m_perByte = 8 * kPerSecond % rateBps == 0 ? 8 * kPerSecond / rateBps : 0;
    }

    /**
     * \return rate in bit/s
     */
    int64_t Rate() const
    {
        return m_rate;
    }

    /**
     * \param wire bytes
     * \return the time that they take
     */
    Picoseconds SerialisationOf(int64_t wire) const
    {
        return m_perByte > 0 ? wire * m_perByte : RoundedUp(__int128{8} * wire * kPerSecond);
    }

    /**
     * \param errorRate the share of frames that is lost
     */
    void SetErrorRate(double errorRate)
    {
        m_errorRate = errorRate;
    }

    /**
     * \return true if frames are lost
     */
    bool IsLossy() const
    {
        return m_errorRate > 0;
    }

    /**
     * Draws whether the next frame is lost.
     * \param seed of draws
     * \param draws number of earlier calls of ResetLosses
     * \param link number of the link
     * \return true if it is lost
     */
    bool Loses(uint64_t seed, uint64_t draws, uint64_t link)
    {
        if (!IsLossy())
        {
            return false;
        }
        if (m_untilLoss < 0)
        {
            DrawLoss(seed, draws, link);
        }
        return m_untilLoss-- == 0;
    }

    /// Makes losses be drawn again from now on.
    void ResetLosses()
    {
        m_losses = 0;
        m_untilLoss = -1;
    }

    /**
     * \param ahead picoseconds of sending time
     * \return the number of bytes that are sent in this time
     */
    double BytesIn(double ahead) const
    {
        return ahead * static_cast<double>(m_rate) / (8.0 * kPerSecond);
    }

  private:
    static constexpr int64_t kPerSecond = 1'000'000'000'000; ///< picoseconds

    Picoseconds RoundedUp(__int128 numerator) const
    {
        return static_cast<Picoseconds>((numerator + m_rate - 1) / m_rate);
    }

    void DrawLoss(uint64_t seed, uint64_t draws, uint64_t link);

    int64_t m_rate{0};       //!< bit/s
    int64_t m_perByte{0};    //!< picoseconds; 0: not a whole number
    int64_t m_untilLoss{-1}; //!< number of frames until the next is lost; -1: not drawn
    uint64_t m_losses{0};    //!< number of such draws
    double m_errorRate{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_LINE_H
