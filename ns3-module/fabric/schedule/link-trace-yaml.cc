#include "link-trace-yaml.h"

#include "base/error.h"

#include <utility>
#include <yaml-cpp/yaml.h>

namespace legacy::fabric
{

namespace
{

std::string PlaceIn(const std::string& path, const YAML::Node& node)
{
    const YAML::Mark mark = node.Mark();
    if (mark.is_null())
    {
        return path;
    }
    return path + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
}

/// Adds the scalars of a map to the settings, except for the key `left`.
void AddScalars(const std::string& path,
                const YAML::Node& map,
                const std::string& left,
                Settings& settings)
{
    for (const auto& entry : map)
    {
        const std::string where = PlaceIn(path, entry.first);
        if (!entry.first.IsScalar() || !entry.second.IsScalar())
        {
            throw Error(where + ": a schedule's keys have one value each");
        }
        if (entry.first.Scalar() != left)
        {
            settings.Set(entry.first.Scalar(), entry.second.Scalar(), where);
        }
    }
}

ScheduleSpec ReadSteps(const std::string& path, const YAML::Node& list)
{
    const std::string where = PlaceIn(path, list);
    std::vector<RatePoint> points;
    TimeNs period = kNever;
    for (const YAML::Node& item : list)
    {
        Settings settings(PlaceIn(path, item), "a step of a schedule");
        if (!item.IsMap())
        {
            throw Error(settings.Where() + ": a step is a map such as {at: 10s, rate: 5Mbps}");
        }
        AddScalars(path, item, "", settings);
        if (settings.Has("period"))
        {
            period = settings.Time("period", 0);
        }
        else
        {
            const TimeNs at = settings.Time("at", 0);
            const std::string rate = settings.Text("rate", "nothing");
            points.push_back(RatePoint{at, ParseRateOrNone(rate, settings.Location("rate"))});
        }
        settings.RejectUnread();
    }
    ScheduleSpec spec;
    try
    {
        spec.curve = LinkSchedule(std::move(points), period);
    }
    catch (const Error& error)
    {
        throw error.Within(where + ": ");
    }
    return spec;
}

} // namespace

ScheduleSpec ReadSchedule(const std::string& path, const YAML::Node& node)
{
    const std::string where = PlaceIn(path, node);
    if (node.IsScalar())
    {
        return ParseSchedule(node.Scalar(), where);
    }
    if (node.IsSequence())
    {
        return ReadSteps(path, node);
    }
    if (node.IsMap())
    {
        for (const char* type : {"csv", "mahimahi"})
        {
            if (const YAML::Node file = std::as_const(node)[type])
            {
                Settings settings(where, type);
                AddScalars(path, node, type, settings);
                settings.Set("file", file.IsScalar() ? file.Scalar() : "");
                return ScheduleOf(settings);
            }
        }
        Settings settings(where, "outage");
        AddScalars(path, node, "", settings);
        return ScheduleOf(settings);
    }
    throw Error(where + ": schedule",
                "nothing",
                "a text such as csv:FILE, a list of {at: 10s, rate: 5Mbps}, or {from: 60s, for: "
                "30s}");
}

} // namespace legacy::fabric
