/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_ACKS_H
#define LEGACY_ROCE_ACKS_H

#include "fabric/roce/control.h"
#include "queue-pairs.h"

namespace legacy
{
namespace packet
{

/**
 * Counts what an ACK or a NAK acknowledges, and drops the messages that are acknowledged.
 * \param pairs all queue pairs
 * \param pair the queue pair that it is for
 * \param ack the frame
 * \return what the congestion control is told about it, which leaves out frames that were sent
 * under an earlier state
 */
fabric::RoceAck Acknowledge(const QueuePairs& pairs, QueuePair& pair, const Frame& ack);

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_ACKS_H
