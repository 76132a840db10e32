/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_PACKET_ENGINE_HELPER_H
#define LEGACY_PACKET_ENGINE_HELPER_H

#include "fabric/engine/engine.h"

#include <string>

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

/// ns-3's own records of a simulation; empty: none. Files are complete when the engine is gone.
struct PacketOutputs
{
    /// PREFIX-NODE-DEVICE.pcap for each port of each endpoint's node, the first 128 bytes of every
    /// packet (ns3::PcapFileWrapper::CaptureSize)
    std::string pcapPrefix;
    std::string flowMonitorXml; ///< delays, losses and volumes of each TCP connection and direction
    std::string netAnimXml;     ///< for the NetAnim player, every packet on every link: large
};

/**
 * \ingroup legacy
 * Packet engines that write files. The first one takes the names as they are; those after it (fresh
 * simulations of other steps) add -2, -3, ... to the prefix, and before the extensions. Throws
 * Error naming the option and the path where a file cannot be written.
 *
 * \param outputs what to write
 * \return an EngineFactory; its copies share the numbering
 */
EngineFactory MakePacketEngineFactory(const PacketOutputs& outputs);

} // namespace fabric
} // namespace legacy

#endif // LEGACY_PACKET_ENGINE_HELPER_H
