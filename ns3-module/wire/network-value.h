// A network as a value that bytes can hold: a topology with a placement, without pointers.
#pragma once

#include "fabric/topology/placement.h"
#include "fabric/topology/topology.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace legacy::wire
{

/// A Curve is the part of schedules that copies share.
struct Curve
{
    std::vector<fabric::RatePoint> points;
    TimeNs period = 0;
};

/// A ScheduleValue is a schedule on a curve.
struct ScheduleValue
{
    uint64_t curve = 0; ///< number among the network's
    TimeNs offset = 0;
    double scale = 1;
    std::vector<fabric::Outage> outages;
};

/// A PortValue is a fabric::Port.
struct PortValue
{
    int64_t rateBps = 0;
    int64_t queueBytes = 0;
    double errorRate = 0;
    double usdPerGb = 0;
    std::optional<uint64_t> schedule; ///< number among the network's
    int64_t burstBytes = 0;
};

/// A LinkValue is a fabric::Link.
struct LinkValue
{
    int a = 0;
    int b = 0;
    TimeNs delay = 0;
    int weight = 1;
    std::array<PortValue, 2> ports;
};

/// A NetworkValue has all that engines read of a network.
struct NetworkValue
{
    std::string name;
    std::vector<Curve> curves;
    std::vector<ScheduleValue> schedules;
    std::vector<fabric::TopologyParts::Node> nodes;
    std::vector<LinkValue> links;
    uint64_t seed = 1;
    fabric::Multipath multipath = fabric::Multipath::Ecmp;
    fabric::ExplicitRoutes routes;
    fabric::Placement placement;
};

/// Returns the network as a value.
NetworkValue ValueOf(const fabric::Topology& topology, const fabric::Placement& placement);
/// Returns the topology of a value. Throws Error on values that are none, as Topology does.
fabric::Topology TopologyOf(const NetworkValue& value);

} // namespace legacy::wire
