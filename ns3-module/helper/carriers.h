/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_CARRIERS_H
#define LEGACY_CARRIERS_H

#include "model/packet-engine.h"

#include <cstdint>

namespace legacy
{
namespace packet
{

/**
 * \param topology outlives the carrier
 * \param placement outlives the carrier
 * \param transport of TCP or RoCEv2
 * \param seed of marks and losses
 * \param run of losses
 * \return the function that makes the carrier of an engine on that network
 */
PacketEngine::CarrierFactory CarrierFor(const fabric::Topology* topology,
                                        const fabric::Placement* placement,
                                        const fabric::Transport& transport,
                                        uint64_t seed,
                                        uint64_t run = 0);

} // namespace packet
} // namespace legacy

#endif // LEGACY_CARRIERS_H
