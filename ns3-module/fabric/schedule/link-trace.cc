#include "link-trace.h"

#include "base/error.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr const char* kEachTrace = "each";

/// Returns the number of the requested trace.
size_t
FindTrace(const std::vector<Trace>& traces, const std::string& wanted, const std::string& location)
{
    for (size_t i = 0; i < traces.size(); ++i)
    {
        if (!traces[i].name.empty() && traces[i].name == wanted)
        {
            return i;
        }
    }
    size_t number = 0;
    const char* end = wanted.data() + wanted.size();
    auto [rest, error] = std::from_chars(wanted.data(), end, number);
    if (error != std::errc() || rest != end || number >= traces.size())
    {
        throw Error(location,
                    wanted,
                    "a trace's name, or its number from 0 to " + std::to_string(traces.size() - 1));
    }
    return number;
}

/// Parses the text after "steps:".
ScheduleSpec ParseSteps(const std::string& list, const std::string& option)
{
    const std::string allowed = "steps:TIME=RATE,TIME=RATE[,period=TIME], from 0s on and ascending";
    std::vector<RatePoint> points;
    TimeNs period = kNever;
    for (size_t begin = 0; begin <= list.size();)
    {
        const size_t end = std::min(list.find(',', begin), list.size());
        const std::string item = list.substr(begin, end - begin);
        const size_t equals = item.find('=');
        if (equals == std::string::npos)
        {
            throw Error(option, item, allowed);
        }
        const std::string key = item.substr(0, equals);
        const std::string value = item.substr(equals + 1);
        if (key == "period")
        {
            period = ParseTime(value, option + ": period");
        }
        else
        {
            points.push_back(RatePoint{ParseTime(key, option), ParseRateOrNone(value, option)});
        }
        begin = end + 1;
    }
    ScheduleSpec spec;
    try
    {
        spec.curve = LinkSchedule(std::move(points), period);
    }
    catch (const Error& error)
    {
        throw error.Within(option + ": ");
    }
    return spec;
}

/// Parses "csv:FILE:key=value,...": the keys follow the last colon that has a key after it.
Settings FileSettings(const std::string& text, const std::string& option, const std::string& folder)
{
    const size_t colon = text.find(':');
    const std::string type = text.substr(0, colon);
    const std::string rest = text.substr(colon + 1);
    const size_t last = rest.rfind(':');
    const bool keys = last != std::string::npos && rest.find('=', last) != std::string::npos;
    Settings settings =
        Settings::FromText(keys ? type + ":" + rest.substr(last + 1) : type, option);
    const std::filesystem::path file = keys ? rest.substr(0, last) : rest;
    settings.Set("file", (std::filesystem::path(folder) / file).string());
    return settings;
}

std::vector<ScheduleSpec>
ParsePart(const std::string& text, const std::string& option, const std::string& folder)
{
    const size_t colon = text.find(':');
    const std::string type = text.substr(0, colon);
    if (type == "steps" && colon != std::string::npos)
    {
        return {ParseSteps(text.substr(colon + 1), option)};
    }
    if ((type == "csv" || type == "mahimahi") && colon != std::string::npos)
    {
        Settings settings = FileSettings(text, option, folder);
        return SchedulesOf(settings);
    }
    if (type == "outage")
    {
        Settings settings = Settings::FromText(text, option);
        return SchedulesOf(settings);
    }
    throw Error(
        option, text, "csv:FILE, mahimahi:FILE, steps:0s=RATE,... or outage:from=TIME,for=TIME");
}

} // namespace

LinkSchedule ScheduleSpec::For(int64_t rateBps) const
{
    LinkSchedule schedule = curve ? *curve : LinkSchedule({RatePoint{0, rateBps}});
    double factor = scale;
    if (curve && toMean)
    {
        factor *= static_cast<double>(rateBps) / static_cast<double>(curve->MeanRate());
    }
    schedule = factor == 1 ? schedule : schedule.Scaled(factor);
    schedule = offset == 0 ? schedule : schedule.Shifted(offset);
    for (const Outage& outage : outages)
    {
        schedule = schedule.Without(outage);
    }
    return schedule;
}

TraceRequest TraceRequestOf(Settings& settings)
{
    TraceRequest request;
    request.option = settings.Where();
    request.mahimahi = settings.Type() == "mahimahi";
    request.file = settings.Text("file", "");
    if (request.mahimahi)
    {
        request.bin = settings.Time("bin", request.bin);
        if (request.bin <= 0)
        {
            throw Error(settings.Location("bin"), settings.Text("bin", ""), "above 0 ms");
        }
        return request;
    }
    request.column = settings.Text("column", "");
    request.time = settings.Text("time", request.time);
    const std::string acks = settings.Text("yes_acks", "off");
    if (acks != "on" && acks != "off" && acks != "true" && acks != "false")
    {
        throw Error(settings.Location("yes_acks"), acks, "on, off");
    }
    request.acksAreWanted = acks == "on" || acks == "true";
    return request;
}

void SetScaling(Settings& settings, ScheduleSpec& spec)
{
    spec.toMean = settings.Text("scale", "1") == "mean";
    spec.scale = spec.toMean ? 1 : settings.Real("scale", 1, 1e-9, 1e9);
    spec.offset = settings.Time("offset", 0);
}

ScheduleSpec ScheduleOf(Settings& settings)
{
    std::vector<ScheduleSpec> specs = SchedulesOf(settings);
    if (specs.size() > 1)
    {
        throw Error(settings.Location("trace"), kEachTrace, "one trace, for one link");
    }
    return std::move(specs.front());
}

std::vector<ScheduleSpec> SchedulesOf(Settings& settings)
{
    ScheduleSpec spec;
    if (settings.Type() == "outage")
    {
        Outage outage;
        outage.from = settings.Time("from", 0);
        if (settings.Has("for"))
        {
            outage.until = Later(outage.from, settings.Time("for", 0));
        }
        settings.RejectUnread();
        if (outage.until <= outage.from)
        {
            throw Error(settings.Location("for"), settings.Text("for", ""), "above 0 s");
        }
        spec.outages.push_back(outage);
        return {spec};
    }
    const TraceRequest request = TraceRequestOf(settings);
    const std::string wanted = settings.Text("trace", "0");
    SetScaling(settings, spec);
    settings.RejectUnread();
    const std::vector<Trace> traces = ReadTraces(request);
    if (wanted == kEachTrace)
    {
        std::vector<ScheduleSpec> specs(traces.size(), spec);
        for (size_t i = 0; i < traces.size(); ++i)
        {
            specs[i].curve = traces[i].schedule;
        }
        return specs;
    }
    spec.curve = traces[FindTrace(traces, wanted, settings.Location("trace"))].schedule;
    return {spec};
}

ScheduleSpec ParseSchedule(const std::string& text, const std::string& option)
{
    std::vector<ScheduleSpec> specs = ParseSchedules(text, option);
    if (specs.size() > 1)
    {
        throw Error(option, text, "one trace, for one link, instead of trace=each");
    }
    return std::move(specs.front());
}

std::vector<ScheduleSpec>
ParseSchedules(const std::string& text, const std::string& option, const std::string& folder)
{
    std::vector<ScheduleSpec> all;
    for (size_t begin = 0; begin <= text.size();)
    {
        const size_t end = std::min(text.find(';', begin), text.size());
        std::vector<ScheduleSpec> parts =
            ParsePart(text.substr(begin, end - begin), option, folder);
        if (begin == 0)
        {
            all = std::move(parts);
        }
        else if (parts.front().curve)
        {
            throw Error(option, text.substr(begin, end - begin), "outages after ';'");
        }
        else
        {
            for (ScheduleSpec& spec : all)
            {
                const std::vector<Outage>& more = parts.front().outages;
                spec.outages.insert(spec.outages.end(), more.begin(), more.end());
            }
        }
        begin = end + 1;
    }
    for (ScheduleSpec& spec : all)
    {
        spec.text = text;
    }
    return all;
}

int64_t ParseRateOrNone(const std::string& text, const std::string& option)
{
    double number = 1;
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || number != 0)
    {
        return ParseRate(text, option);
    }
    if (rest != end)
    {
        ParseRate("1" + std::string(rest, end), option); // the unit
    }
    return 0;
}

} // namespace legacy::fabric
