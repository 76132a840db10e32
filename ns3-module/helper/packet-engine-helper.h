/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_PACKET_ENGINE_HELPER_H
#define LEGACY_PACKET_ENGINE_HELPER_H

#include "fabric/engine/engine.h"

#include <string>

// This header includes no ns-3 headers, because the rest of the project is C++20, and the headers
// of ns-3 3.37 are not.

namespace legacy
{
namespace fabric
{

/**
 * \ingroup legacy
 * Makes the packet engine; an EngineFactory.
 *
 * A process has one ns-3 simulator, so this throws Error while another simulation is alive in the
 * process. It also throws Error on invalid transports and ns-3 attributes.
 *
 * \param request what to simulate
 * \return a fresh engine; its destructor destroys the simulator and restores ns-3's defaults
 */
std::unique_ptr<Engine> MakePacketEngine(const EngineRequest& request);

/// The names of ns-3's own records of a simulation; empty: none. The files are complete when the
/// engine is destroyed.
struct PacketOutputs
{
    /// PREFIX-NODE-DEVICE.pcap for each port of each endpoint's node, with the first 128 bytes of
    /// every packet (ns3::PcapFileWrapper::CaptureSize); with roce whole frames, and times in
    /// nanoseconds
    std::string pcapPrefix;
    std::string flowMonitorXml; ///< delays, losses and volumes of each TCP connection and direction
    std::string netAnimXml; ///< every packet on every link, for the NetAnim player; a large file
    /// set when an engine is destroyed: the first file that was not written completely, for example
    /// because the disk is full; empty: none. Copies share it.
    std::shared_ptr<std::string> lost = std::make_shared<std::string>();
};

/**
 * \ingroup legacy
 * Makes the factory of packet engines that write files. The first engine uses the names unchanged;
 * later ones (fresh simulations of other steps) add -2, -3, ... to the prefix, and before the
 * extensions. Throws Error that names the option and the path if a file cannot be written.
 *
 * \param outputs files to write
 * \return an EngineFactory; its copies share the numbering
 */
EngineFactory MakePacketEngineFactory(const PacketOutputs& outputs);

/// Throws Error as MakePacketEngineFactory does. Leaves no file behind.
void CheckPacketOutputs(const PacketOutputs& outputs);

/**
 * \ingroup legacy
 * Makes one of the engines of MakePacketEngineFactory.
 *
 * \param request what to simulate
 * \param outputs files to write, which were checked
 * \param number of the engine; the first is 1
 * \return a fresh engine
 */
std::unique_ptr<Engine>
MakeNumberedPacketEngine(const EngineRequest& request, const PacketOutputs& outputs, int number);

} // namespace fabric
} // namespace legacy

#endif // LEGACY_PACKET_ENGINE_HELPER_H
