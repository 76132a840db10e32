// Buffers of the switches of a topology, and what of a topology RoCEv2 does not take.
#pragma once

#include "fabric/topology/topology.h"
#include "roce-settings.h"
#include "shared-buffer.h"

#include <memory>
#include <string>

namespace legacy::fabric
{

/// Throws Error where the topology has what cannot be together with the settings: packets that take
/// any path with go-back-n or telemetry, rates that telemetry on the wire has no codes for, caps of
/// queues with a lossless class or below a frame, links that lose frames with trains, or a storm of
/// a host that it does not have.
void CheckRoce(const Topology& topology, const RoceSettings& settings);

/// Returns the node of the host that storms, which has that name or else that number among the
/// hosts. Throws Error where there is none.
int HostOfStorm(const Topology& topology, const RoceStorm& storm);

/// Returns the headroom of the port of a switch at which `link` ends.
int64_t HeadroomOf(const Topology& topology, DirectedLink link, const RoceSettings& settings);

/// Returns the buffer of a switch, whose ports are its links in the order of Topology::Out. Throws
/// Error where reserves and headrooms leave nothing to share, or, without a lossless class, no room
/// for a frame.
std::unique_ptr<SharedBuffer>
MakeSwitchBuffer(const Topology& topology, int node, const RoceSettings& settings);

} // namespace legacy::fabric
