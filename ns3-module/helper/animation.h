/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ANIMATION_H
#define LEGACY_ANIMATION_H

#include "fabric/topology/topology.h"

#include "ns3/ptr.h"

#include <memory>
#include <string>

namespace legacy
{
namespace packet
{

class PacketNetwork;

/**
 * Writes a file for the NetAnim player, with hosts below their switches. Its definition needs
 * ns-3's module netanim.
 * \param network that was just built, and has sent nothing yet
 * \param topology of the network
 * \param path the XML file
 * \return the owner of the file, which is complete once nobody holds the owner any more
 */
std::shared_ptr<void>
Animate(ns3::Ptr<PacketNetwork> network, const fabric::Topology& topology, const std::string& path);

/// The type of Animate.
using Animator = decltype(&Animate);

} // namespace packet
} // namespace legacy

#endif // LEGACY_ANIMATION_H
