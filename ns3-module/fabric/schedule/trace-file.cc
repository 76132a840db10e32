#include "trace-file.h"

#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/files/text_file.h"
#include "base/median.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr double kMostSeconds = 1e9; ///< 31 years
constexpr double kMostMbps = 1e9;    ///< 1 Pbit/s
constexpr const char* kAckedColumn = "ul_mbps";
constexpr const char* kDownloadColumn = "dl_mbps";

/// The rows of one trace of a file.
struct TraceRows
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
    TraceRows rows;
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
            rows = TraceRows{named ? std::string(file.Text(name)) : "", file.Where(), {}, {}};
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
    // As in mahimahi, a delivery at the end of the period belongs to this period.
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

} // namespace legacy::fabric
