// Availability that was recorded.
#include "availability-kinds.h"
#include "base/error.h"
#include "base/files/csv_file.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace legacy::fabric
{

namespace
{

/// A TracedAvailability repeats a recording.
class TracedAvailability : public Availability
{
  public:
    explicit TracedAvailability(Settings& settings)
    {
        CsvFile file(settings.Text("file", ""), settings.Location("file"));
        const size_t client = file.Column("client");
        const size_t start = file.Column("start_s");
        const size_t end = file.Column("end_s");
        std::map<std::string, size_t, std::less<>> numbers;
        while (file.Next())
        {
            const std::string name(file.Text(client));
            const size_t number = numbers.try_emplace(name, m_times.size()).first->second;
            if (number == m_times.size())
            {
                m_times.emplace_back();
            }
            const TimeNs from = RoundedTime(file.Number(start, 0, kMostSeconds) * 1e9);
            const TimeNs until = RoundedTime(file.Number(end, 0, kMostSeconds) * 1e9);
            std::vector<Span>& spans = m_times[number];
            if (until <= from)
            {
                throw Error(file.Where(end), std::string(file.Text(end)), "after its start");
            }
            if (!spans.empty() && from < spans.back().until)
            {
                throw Error(file.Where(start),
                            std::string(file.Text(start)),
                            "not before the end of the client's row above, " +
                                FormatTime(spans.back().until));
            }
            if (!spans.empty() && from == spans.back().until)
            {
                spans.back().until = until;
            }
            else
            {
                spans.push_back(Span{from, until});
            }
            m_period = std::max(m_period, until);
        }
        if (m_times.empty())
        {
            throw Error(file.Path() + ": no rows");
        }
    }

    bool Available(int64_t client, double, TimeNs t) const override
    {
        const std::vector<Span>& spans = SpansOf(client);
        const size_t next = NextSpan(spans, t % m_period);
        return next < spans.size() && spans[next].from <= t % m_period;
    }

    TimeNs NextChange(int64_t client, double, TimeNs t) const override
    {
        const std::vector<Span>& spans = SpansOf(client);
        if (spans.size() == 1 && spans[0].from == 0 && spans[0].until == m_period)
        {
            return kNever;
        }
        const TimeNs begin = t - t % m_period;
        const TimeNs at = t % m_period;
        const size_t next = NextSpan(spans, at);
        if (next == spans.size())
        {
            return Later(begin, Later(m_period, spans[0].from));
        }
        if (spans[next].from > at)
        {
            return Later(begin, spans[next].from);
        }
        // A span that ends with the period continues if the next period's first span begins at 0.
        const bool continues = spans[next].until == m_period && spans[0].from == 0;
        return Later(begin, continues ? Later(m_period, spans[0].until) : spans[next].until);
    }

  private:
    static constexpr double kMostSeconds = 1e9;

    struct Span
    {
        TimeNs from = 0;
        TimeNs until = 0;
    };

    const std::vector<Span>& SpansOf(int64_t client) const
    {
        return m_times[static_cast<size_t>(client) % m_times.size()];
    }

    /// Returns the number of the first span that ends after `at`.
    static size_t NextSpan(const std::vector<Span>& spans, TimeNs at)
    {
        const auto found =
            std::upper_bound(spans.begin(),
                             spans.end(),
                             at,
                             [](TimeNs time, const Span& span) { return time < span.until; });
        return static_cast<size_t>(found - spans.begin());
    }

    std::vector<std::vector<Span>> m_times; ///< by client of the trace
    TimeNs m_period = 0;
};

} // namespace

std::shared_ptr<const Availability> MakeTracedAvailability(Settings& settings)
{
    return std::make_shared<TracedAvailability>(settings);
}

} // namespace legacy::fabric
