/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_REPEATED_MESSAGES_H
#define LEGACY_REPEATED_MESSAGES_H

#include "base/units.h"

#include <cstdint>
#include <optional>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * RepeatedMessages learns how long the messages of a connection take, from several in a row that
 * take equally long.
 *
 * A message that takes the time T and is sent at s arrives at max(s + T, a + T - L): a is the
 * arrival of the message before it, and L the latency of the path. Messages of a connection thus
 * wait for each other at the sender alone.
 */
class RepeatedMessages
{
  public:
    static constexpr int kNeeded = 3;          ///< messages that have to take equally long
    static constexpr double kTolerance = 0.01; ///< relative difference of equal times
    static constexpr double kRoundTrips = 4;   ///< that they have to last, at least
    static constexpr double kNear = 0.2;       ///< relative difference of equal sizes

    /**
     * \param latency of the path in nanoseconds
     * \param roundTrip of the path in nanoseconds
     */
    RepeatedMessages(double latency, double roundTrip);

    /**
     * \param bytes of a message
     * \return true if its time is known
     */
    bool Know(int64_t bytes) const;
    /**
     * Makes messages of another size be learned in the place of those of before.
     * \param bytes of a message that is sent in packets
     */
    void OnSent(int64_t bytes);
    /**
     * Learns from a message that was in packets from its start to its end.
     * \param bytes of the message
     * \param sent its start
     * \param arrived its arrival
     * \return if it was a check, its time divided by the time that was known
     */
    std::optional<double> OnArrived(int64_t bytes, TimeNs sent, TimeNs arrived);
    /**
     * Notes an arrival after which the next message arrives, whatever carries the two.
     * \param arrival of a message
     */
    void Follow(TimeNs arrival);
    /**
     * \return the last arrival
     */
    TimeNs LastArrival() const;

    /**
     * \param bytes of a message whose time is known
     * \param sent its start
     * \param before arrival of the message before it
     * \return its arrival
     */
    TimeNs ArrivalOf(int64_t bytes, TimeNs sent, TimeNs before) const;
    /**
     * \param bytes of a message whose time is known
     * \return nanoseconds for which it occupies the sender
     */
    double BusyTime(int64_t bytes) const;
    /**
     * \return nanoseconds from the departure of a message's last byte to its arrival
     */
    double Latency() const;

    /// Forgets what is known.
    void Forget();
    /// Asks for the time of one more message.
    void Check();

  private:
    bool IsNear(int64_t bytes) const;
    bool IsEnough() const; //!< of equal times

    double m_latency;
    double m_roundTrip;
    int64_t m_bytes{0}; //!< of the messages that are compared
    double m_time{0};   //!< mean of their times
    int m_equal{0};     //!< number of messages that took equally long
    double m_lasted{0}; //!< nanoseconds that these took
    bool m_checks{false};
    TimeNs m_lastArrival;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_REPEATED_MESSAGES_H
