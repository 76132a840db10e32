#include "network-value.h"

#include "base/error.h"

#include <map>
#include <memory>

namespace legacy::wire
{

namespace
{

using fabric::LinkSchedule;

/// Numbers the schedules of ports, and the curves that they share.
class ScheduleTable
{
  public:
    explicit ScheduleTable(NetworkValue& value) : m_value(value)
    {
    }

    /// Returns the number of a schedule; nothing where there is none.
    std::optional<uint64_t> NumberOf(const LinkSchedule* schedule)
    {
        if (!schedule)
        {
            return std::nullopt;
        }
        const auto [found, fresh] = m_schedules.emplace(schedule, m_value.schedules.size());
        if (fresh)
        {
            m_value.schedules.push_back(
                {CurveOf(*schedule), schedule->Offset(), schedule->Scale(), schedule->Outages()});
        }
        return found->second;
    }

  private:
    uint64_t CurveOf(const LinkSchedule& schedule)
    {
        const auto [found, fresh] = m_curves.emplace(&schedule.Points(), m_value.curves.size());
        if (fresh)
        {
            m_value.curves.push_back({schedule.Points(), schedule.Period()});
        }
        return found->second;
    }

    NetworkValue& m_value;
    std::map<const LinkSchedule*, uint64_t> m_schedules;
    std::map<const std::vector<fabric::RatePoint>*, uint64_t> m_curves;
};

/// Returns the schedules of a value, which share their curves as there.
std::vector<std::shared_ptr<const LinkSchedule>> SchedulesOf(const NetworkValue& value)
{
    std::vector<LinkSchedule> curves;
    for (const Curve& curve : value.curves)
    {
        curves.emplace_back(curve.points, curve.period);
    }
    std::vector<std::shared_ptr<const LinkSchedule>> schedules;
    for (const ScheduleValue& part : value.schedules)
    {
        if (part.curve >= curves.size())
        {
            throw Error("curve of a schedule",
                        std::to_string(part.curve),
                        "below " + std::to_string(curves.size()));
        }
        LinkSchedule schedule = curves[part.curve].Shifted(part.offset).Scaled(part.scale);
        for (const fabric::Outage& outage : part.outages)
        {
            schedule = schedule.Without(outage);
        }
        schedules.push_back(std::make_shared<LinkSchedule>(std::move(schedule)));
    }
    return schedules;
}

/// Throws Error unless all nodes are among those of the value.
void CheckNodes(const std::vector<int>& nodes, const NetworkValue& value, const char* what)
{
    for (const int node : nodes)
    {
        if (node < 0 || node >= static_cast<int>(value.nodes.size()))
        {
            throw Error(
                what, std::to_string(node), "0 to below " + std::to_string(value.nodes.size()));
        }
    }
}

} // namespace

NetworkValue ValueOf(const fabric::Topology& topology, const fabric::Placement& placement)
{
    const fabric::TopologyParts parts = topology.Parts();
    NetworkValue value;
    value.name = parts.name;
    value.seed = parts.seed;
    value.multipath = parts.multipath;
    value.nodes = parts.nodes;
    value.routes = parts.routes;
    value.placement = placement;
    ScheduleTable schedules(value);
    for (const fabric::Link& link : parts.links)
    {
        LinkValue& next = value.links.emplace_back();
        next.a = link.a;
        next.b = link.b;
        next.delay = link.delay;
        next.weight = link.weight;
        for (size_t i = 0; i < link.ports.size(); ++i)
        {
            const auto& [rateBps, queueBytes, errorRate, usdPerGb, schedule, burstBytes] =
                link.ports[i];
            next.ports[i] = {rateBps,
                             queueBytes,
                             errorRate,
                             usdPerGb,
                             schedules.NumberOf(schedule.get()),
                             burstBytes};
        }
    }
    return value;
}

fabric::Topology TopologyOf(const NetworkValue& value)
{
    const std::vector<std::shared_ptr<const LinkSchedule>> schedules = SchedulesOf(value);
    fabric::TopologyParts parts;
    parts.name = value.name;
    parts.seed = value.seed;
    parts.multipath = value.multipath;
    parts.nodes = value.nodes;
    parts.routes = value.routes;
    for (const LinkValue& from : value.links)
    {
        fabric::Link& link = parts.links.emplace_back();
        link.a = from.a;
        link.b = from.b;
        link.delay = from.delay;
        link.weight = from.weight;
        for (size_t i = 0; i < link.ports.size(); ++i)
        {
            const PortValue& port = from.ports[i];
            if (port.schedule && *port.schedule >= schedules.size())
            {
                throw Error("schedule of a port",
                            std::to_string(*port.schedule),
                            "below " + std::to_string(schedules.size()));
            }
            link.ports[i] = {port.rateBps,
                             port.queueBytes,
                             port.errorRate,
                             port.usdPerGb,
                             port.schedule ? schedules[*port.schedule] : nullptr,
                             port.burstBytes};
        }
    }
    for (const auto& [ends, via] : value.routes)
    {
        CheckNodes({ends.first, ends.second}, value, "node of a route");
        CheckNodes(via, value, "node of a route");
    }
    const fabric::Placement& placement = value.placement;
    for (const std::vector<int>& nodes :
         {placement.hosts, placement.servers, placement.aggregators, placement.others})
    {
        CheckNodes(nodes, value, "node of an endpoint");
    }
    return fabric::Topology(parts);
}

} // namespace legacy::wire
