/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_PACKET_ENGINE_HELPER_H
#define LEGACY_PACKET_ENGINE_HELPER_H

#include "fabric/engine.h"

// No ns-3 header here: the rest of the project is C++20, which ns-3 3.37's headers are not.

namespace legacy
{
namespace fabric
{

/**
 * \ingroup legacy
 * The packet engine: an EngineFactory.
 *
 * ns-3's simulator is one for each process: throws Error while another simulation is alive in this
 * one. Also throws Error on transports and ns-3 attributes that cannot be.
 *
 * \param request what to simulate
 * \return a fresh engine; its destructor destroys the simulator and puts ns-3's defaults back
 */
std::unique_ptr<Engine> MakePacketEngine(const EngineRequest& request);

} // namespace fabric
} // namespace legacy

#endif // LEGACY_PACKET_ENGINE_HELPER_H
