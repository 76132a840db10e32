/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-trains.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

int RoceTrains::Longest(const QueuePair& pair, const QueuePair::Message& message, bool alone) const
{
    if (!alone)
    {
        return 1;
    }
    const bool smooth = pair.smooth >= m_settings->framesPerAck;
    if (m_control->Traits().notifications && (!smooth || pair.Rate() < pair.course->path.lineRate))
    {
        return 1; // rates depend on what single frames meet
    }
    if (smooth && !pair.course->speedsUp)
    {
        return m_settings->train;
    }
    // In a queue, others wait for a train: allow 1 in 20 of its message's frames at most. Before a
    // faster link, the train waits for itself: allow 1 in 100.
    const bool queued = pair.smooth < 0;
    const uint64_t parts = pair.course->speedsUp && !queued ? 100 : 20;
    const uint64_t part = (message.end - message.first) / parts;
    return static_cast<int>(std::clamp<uint64_t>(part, 1, m_settings->train));
}

void RoceTrains::Grow(Frame& frame,
                      const QueuePair& pair,
                      const QueuePair::Message& message,
                      bool alone) const
{
    const int most =
        std::min(Longest(pair, message, alone), m_settings->framesPerAck - pair.sinceRequest);
    uint64_t next = frame.psn + 1;
    while (frame.frames < most && next < message.end &&
           static_cast<double>(pair.inFlight + frame.wire) < pair.Window())
    {
        frame.wire += static_cast<int32_t>(m_pairs.WireOf(message, next++));
        ++frame.frames;
    }
    frame.payload = static_cast<int32_t>(m_pairs.PayloadOf(message, frame.psn, frame.frames));
}

} // namespace packet
} // namespace legacy
