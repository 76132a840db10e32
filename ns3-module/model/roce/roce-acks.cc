/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-acks.h"

namespace legacy
{
namespace packet
{

fabric::RoceAck Acknowledge(const QueuePairs& pairs, QueuePair& pair, const Frame& ack)
{
    fabric::RoceAck told;
    const auto count = [&](const QueuePair::Message& message, uint64_t psn, bool inFlight)
    {
        if (psn >= pair.firstOwn)
        {
            told.payload += pairs.PayloadOf(message, psn);
            ++told.frames;
        }
        pair.inFlight -= inFlight ? pairs.WireOf(message, psn) : 0;
    };
    for (; pair.acked < ack.psn; ++pair.acked)
    {
        const QueuePair::Message& message = pair.messages.front();
        if (!pair.selective || !pair.selective->sender.Forget(pair.acked))
        {
            count(message, pair.acked, pair.acked < pair.next);
        }
        if (pair.acked + 1 == message.end)
        {
            told.endsMessage = pair.acked >= pair.firstOwn;
            pair.messages.pop_front();
            pair.sending -= pair.sending > 0 ? 1 : 0;
            --pair.receiving;
        }
    }
    if (pair.selective && ack.ahead != Frame::kNone)
    {
        const uint64_t psn = ack.psn + ack.ahead;
        if (psn >= pair.acked && pair.selective->sender.OnArrived(psn))
        {
            count(*pair.MessageOf(psn), psn, true);
        }
    }
    return told;
}

} // namespace packet
} // namespace legacy
