#include "link-trace.h"

#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/files/text_file.h"
#include "base/median.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr double kMostSeconds = 1e9; ///< 31 years
constexpr double kMostMbps = 1e9;    ///< 1 Pbit/s
constexpr const char* kAckedColumn = "ul_mbps";
constexpr const char* kDownloadColumn = "dl_mbps";
constexpr const char* kEachTrace = "each";

/// The rows of one trace of a file.
struct Rows
{
    std::string name;
    std::string where; ///< file and line of the first row
    std::vector<double> seconds;
    std::vector<double> mbps;
};

TimeNs Nanoseconds(double seconds)
{
    return RoundedTime(seconds * 1e9);
}

std::string RateColumn(const TraceRequest& request, const CsvFile& file)
{
    if (request.column.empty())
    {
        return file.Has("mbps") || !file.Has(kDownloadColumn) ? "mbps" : kDownloadColumn;
    }
    if (request.column == kAckedColumn && file.Has(kDownloadColumn) && !request.acksAreWanted)
    {
        throw Error(request.option + ": column of " + request.file,
                    request.column,
                    std::string(kDownloadColumn) +
                        "; while something was downloaded, uploads were acknowledgements, which "
                        "say nothing of the line (yes_acks=on takes them all the same)");
    }
    return request.column;
}

std::vector<Trace> ReadCsvTraces(const TraceRequest& request)
{
    CsvFile file(request.file, request.option + ": file");
    const size_t rate = file.Column(RateColumn(request, file));
    const size_t time = file.Column(request.time);
    const bool named = file.Has("trace");
    const size_t name = named ? file.Column("trace") : 0;
    std::vector<Trace> traces;
    Rows rows;
    const auto finish = [&]
    {
        if (!rows.seconds.empty())
        {
            traces.push_back(TraceOf(rows.seconds, rows.mbps, rows.where));
            traces.back().name = rows.name;
        }
    };
    while (file.Next())
    {
        if (rows.seconds.empty() || (named && file.Text(name) != rows.name))
        {
            finish();
            rows = Rows{named ? std::string(file.Text(name)) : "", file.Where(), {}, {}};
        }
        const double seconds = file.Number(time, -kMostSeconds, kMostSeconds);
        if (!rows.seconds.empty() && seconds < rows.seconds.back())
        {
            throw Error(file.Where(time),
                        std::string(file.Text(time)),
                        "times that do not go back within a trace");
        }
        rows.seconds.push_back(seconds);
        rows.mbps.push_back(file.Number(rate, 0, kMostMbps));
    }
    finish();
    if (traces.empty())
    {
        throw Error(request.file + ": no rows");
    }
    return traces;
}

Trace ReadMahimahi(const TraceRequest& request)
{
    constexpr double kBitsOfDelivery = 1500 * 8;
    const std::string text = ReadText(request.file, kMostTextBytes, request.option + ": file");
    std::vector<int64_t> stamps;
    int64_t line = 0;
    for (size_t begin = 0; begin < text.size();)
    {
        size_t end = std::min(text.find('\n', begin), text.size());
        ++line;
        const size_t next = end + 1;
        end -= end > begin && text[end - 1] == '\r' ? 1 : 0;
        int64_t stamp = 0;
        auto [rest, error] = std::from_chars(text.data() + begin, text.data() + end, stamp);
        const bool whole = error == std::errc() && rest == text.data() + end;
        if (!whole || stamp < (stamps.empty() ? 0 : stamps.back()) || stamp > kMostSeconds * 1e3)
        {
            throw Error(request.file + ":" + std::to_string(line),
                        text.substr(begin, end - begin),
                        "a whole number of milliseconds, not before that of the line above");
        }
        stamps.push_back(stamp);
        begin = next;
    }
    if (stamps.empty() || stamps.back() == 0)
    {
        throw Error(request.file + ": its last line",
                    stamps.empty() ? "none" : "0",
                    "a time after 0 ms, which is the period of the trace");
    }
    constexpr TimeNs kMillisecond = 1'000'000;
    const TimeNs period = stamps.back() * kMillisecond;
    // A delivery at the end of the period is the last of this one, as mahimahi has it.
    std::vector<double> bits(static_cast<size_t>(CeilDivide(period, request.bin)), 0);
    for (int64_t stamp : stamps)
    {
        const TimeNs at = std::min(stamp * kMillisecond, period - 1);
        bits[static_cast<size_t>(at / request.bin)] += kBitsOfDelivery;
    }
    std::vector<RatePoint> points;
    for (size_t i = 0; i < bits.size(); ++i)
    {
        const TimeNs begin = static_cast<TimeNs>(i) * request.bin;
        const TimeNs length = std::min(request.bin, period - begin);
        points.push_back(
            RatePoint{begin, std::llround(bits[i] * 1e9 / static_cast<double>(length))});
    }
    return Trace{"", LinkSchedule(std::move(points), period), period};
}

/// Returns the number of the wanted trace.
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

/// Parses what stands behind "steps:".
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

/// Parses "csv:FILE:key=value,...": the keys stand behind the last colon that a key follows.
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

Trace TraceOf(const std::vector<double>& seconds,
              const std::vector<double>& mbps,
              const std::string& where)
{
    std::vector<double> times;
    std::vector<double> rates;
    for (size_t i = 0; i < seconds.size();)
    {
        double sum = 0;
        size_t end = i;
        for (; end < seconds.size() && seconds[end] == seconds[i]; ++end)
        {
            sum += mbps[end];
        }
        times.push_back(seconds[i] - seconds.front());
        rates.push_back(sum / static_cast<double>(end - i));
        i = end;
    }
    if (times.size() < 2)
    {
        throw Error(where + ": times of a trace",
                    std::to_string(times.size()),
                    "two or more different ones, as their gaps say how long the last value holds");
    }
    std::vector<double> gaps;
    std::vector<RatePoint> points;
    for (size_t i = 0; i < times.size(); ++i)
    {
        const TimeNs at = Nanoseconds(times[i]);
        const int64_t rate = std::llround(rates[i] * 1e6);
        if (i > 0)
        {
            gaps.push_back(times[i] - times[i - 1]);
        }
        if (i == 0 || at > points.back().at)
        {
            points.push_back(RatePoint{at, rate});
        }
    }
    const TimeNs period = Nanoseconds(times.back() + Median(gaps));
    try
    {
        return Trace{"", LinkSchedule(std::move(points), period), period};
    }
    catch (const Error& error)
    {
        throw error.Within(where + ": ");
    }
}

std::vector<Trace> ReadTraces(const TraceRequest& request)
{
    if (request.mahimahi)
    {
        return {ReadMahimahi(request)};
    }
    return ReadCsvTraces(request);
}

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
            throw Error(option, text.substr(begin, end - begin), "outages behind ';'");
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
