/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_PLAIN_TRANSFERS_H
#define LEGACY_PLAIN_TRANSFERS_H

#include "fabric/engine/transport.h"
#include "fabric/topology/topology.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * Runs the program that an ns-3 user writes first. It makes point-to-point links, the Internet
 * stack and global routes by their helpers, with ns-3's default queue discs, and a
 * BulkSendApplication and a PacketSink for each transfer. Only TCP is set as in the transport,
 * buffers included.
 *
 * Throws Error where not all bytes arrive.
 *
 * \param topology nodes and links
 * \param transport TCP's parameters
 * \param transfers source and destination hosts, all started at once
 * \param bytes of each transfer
 * \return simulated events
 */
uint64_t RunPlainTransfers(const fabric::Topology& topology,
                           const fabric::Transport& transport,
                           const std::vector<std::pair<int, int>>& transfers,
                           int64_t bytes);

} // namespace packet
} // namespace legacy

#endif // LEGACY_PLAIN_TRANSFERS_H
