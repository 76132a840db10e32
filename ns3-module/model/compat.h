/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_COMPAT_H
#define LEGACY_COMPAT_H

#include "ns3/ipv4-routing-protocol.h"

#include <type_traits>

// All differences between ns-3 releases are handled here. ns-3 defines no macro with its version,
// so this header asks the declarations themselves. The sources are C++17, which ns-3 3.37's headers
// need with GCC 12, and compile as C++23, which ns-3 demands since 3.46.

namespace legacy
{
namespace packet
{

/// The type of the callbacks of Ipv4RoutingProtocol::RouteInput: a value up to 3.38, and a
/// reference since then.
template <class T>
using RouteInputArgument =
    std::conditional_t<std::is_same_v<decltype(&ns3::Ipv4RoutingProtocol::RouteInput),
                                      bool (ns3::Ipv4RoutingProtocol::*)(
                                          ns3::Ptr<const ns3::Packet>,
                                          const ns3::Ipv4Header&,
                                          ns3::Ptr<const ns3::NetDevice>,
                                          ns3::Ipv4RoutingProtocol::UnicastForwardCallback,
                                          ns3::Ipv4RoutingProtocol::MulticastForwardCallback,
                                          ns3::Ipv4RoutingProtocol::LocalDeliverCallback,
                                          ns3::Ipv4RoutingProtocol::ErrorCallback)>,
                       T,
                       const T&>;

} // namespace packet
} // namespace legacy

#endif // LEGACY_COMPAT_H
