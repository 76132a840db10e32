#include "availability.h"

#include "base/draws.h"
#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/hash.h"
#include "base/settings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace legacy::fabric
{

namespace
{

/// These keep the draws apart from those of other uses of a seed.
constexpr uint64_t kNightStream = 0x6E69676874ULL;
constexpr uint64_t kSessionStream = 0x73657373ULL;
constexpr uint64_t kJoinStream = 0x6A6F696EULL;

/// Returns floor(time / day).
int64_t DayOf(TimeNs time)
{
    return time >= 0 ? time / kDay : -((-time + kDay - 1) / kDay);
}

/// Rounds a time in nanoseconds to microseconds, which no machine's logarithm changes.
TimeNs RoundedDraw(double nanoseconds)
{
    return std::llround(nanoseconds / 1e3) * 1000;
}

class Always : public Availability
{
  public:
    bool Available(int64_t, double, TimeNs) const override
    {
        return true;
    }

    TimeNs NextChange(int64_t, double, TimeNs) const override
    {
        return kNever;
    }

    bool DependsOnTime() const override
    {
        return false;
    }
};

class Bernoulli : public Always
{
  public:
    Bernoulli(uint64_t seed, double chance) : m_seed(seed), m_chance(chance)
    {
    }

    bool Joins(int64_t client, uint64_t choice) const override
    {
        const uint64_t hash =
            HashWords({kJoinStream, m_seed, choice, static_cast<uint64_t>(client)});
        return UnitInterval(hash) < m_chance;
    }

    bool Draws() const override
    {
        return true;
    }

  private:
    uint64_t m_seed;
    double m_chance;
};

/// A Nightly has at most one time a day, which may reach into the next but one.
class Nightly : public Availability
{
  public:
    Nightly(Settings& settings, uint64_t seed)
        : m_seed(seed),
          m_start(settings.Time("start", 22 * kHour)),
          m_spread(static_cast<double>(settings.Time("spread", 2 * kHour))),
          m_length(static_cast<double>(settings.Time("length", 7 * kHour))),
          m_lengthSpread(static_cast<double>(settings.Time("length_spread", kHour))),
          m_chance(settings.Real("chance", 0.8, 0, 1)),
          m_local(settings.Text("zone", "client") == "client")
    {
        const std::string zone = settings.Text("zone", "client");
        if (zone != "client" && zone != "0")
        {
            throw Error(settings.Location("zone"), zone, "client, 0");
        }
        if (m_start >= kDay)
        {
            throw Error(settings.Location("start"), settings.Text("start", ""), "below 24h");
        }
        if (m_chance > 0 && m_chance < kLeastChance)
        {
            throw Error(settings.Location("chance"), settings.Text("chance", ""), "0, .001 to 1");
        }
    }

    bool Available(int64_t client, double longitude, TimeNs t) const override
    {
        const TimeNs local = t + Zone(longitude);
        for (int64_t day = DayOf(local) - 2; day <= DayOf(local) + 1; ++day)
        {
            const std::optional<Night> night = NightOf(client, day);
            if (night && night->begin <= local && local < night->end)
            {
                return true;
            }
        }
        return false;
    }

    TimeNs NextChange(int64_t client, double longitude, TimeNs t) const override
    {
        // With no chance, or no end of any night, nothing changes.
        const bool endless = m_chance == 1 && m_spread == 0 && m_lengthSpread == 0 &&
                             m_length >= static_cast<double>(kDay);
        if (m_chance == 0 || endless)
        {
            return kNever;
        }
        const TimeNs zone = Zone(longitude);
        const bool now = Available(client, longitude, t);
        TimeNs at = t;
        do
        {
            const TimeNs bound = NextBound(client, at + zone);
            if (bound == kNever)
            {
                return kNever;
            }
            at = bound - zone;
        } while (Available(client, longitude, at) == now);
        return at;
    }

  private:
    static constexpr TimeNs kHour = kDay / 24;
    static constexpr double kLeastChance = 1e-3;
    static constexpr int64_t kFarthestDays = 100'000; ///< no draw of .001 fails so often

    struct Night
    {
        TimeNs begin = 0; ///< local time
        TimeNs end = 0;
    };

    TimeNs Zone(double longitude) const
    {
        return m_local ? std::llround(longitude / 15 * static_cast<double>(kHour)) : 0;
    }

    /// Returns the first begin or end of a night after a local time; kNever where none comes.
    TimeNs NextBound(int64_t client, TimeNs local) const
    {
        TimeNs first = kNever;
        const int64_t today = DayOf(local);
        for (int64_t day = today - 2; day <= today + kFarthestDays; ++day)
        {
            // No night of this day or of a later one begins before.
            if (first <= day * kDay + m_start - kDay / 2)
            {
                break;
            }
            if (const std::optional<Night> night = NightOf(client, day))
            {
                first = night->begin > local ? std::min(first, night->begin) : first;
                first = night->end > local ? std::min(first, night->end) : first;
            }
        }
        return first;
    }

    std::optional<Night> NightOf(int64_t client, int64_t day) const
    {
        const auto draw = [&](uint64_t index)
        {
            return HashWords({kNightStream,
                              m_seed,
                              static_cast<uint64_t>(client),
                              static_cast<uint64_t>(day),
                              index});
        };
        if (m_chance < 1 && UnitInterval(draw(0)) >= m_chance)
        {
            return std::nullopt;
        }
        const double half = static_cast<double>(kDay) / 2;
        const double shift =
            m_spread == 0 ? 0 : std::clamp(m_spread * NormalDraw(draw(1)), -half, half);
        const double drawn =
            m_length + (m_lengthSpread == 0 ? 0 : m_lengthSpread * NormalDraw(draw(2)));
        const TimeNs begin = day * kDay + m_start + RoundedDraw(shift);
        const TimeNs length = RoundedDraw(std::clamp(drawn, 0.0, 2 * half));
        if (length == 0)
        {
            return std::nullopt;
        }
        return Night{begin, begin + length};
    }

    uint64_t m_seed;
    TimeNs m_start;
    double m_spread; ///< standard deviation, nanoseconds
    double m_length;
    double m_lengthSpread;
    double m_chance;
    bool m_local;
};

/// Sessions are drawn anew for each day, which begins available with the share of time that is.
class Sessions : public Availability
{
  public:
    Sessions(Settings& settings, uint64_t seed)
        : m_seed(seed),
          m_on(settings.Time("on", kDay / 24)),
          m_off(settings.Time("off", kDay / 8))
    {
        for (const char* key : {"on", "off"})
        {
            const TimeNs mean = settings.Time(key, kDay / 24);
            if (mean < kShortest || mean > kLongest)
            {
                throw Error(settings.Location(key), settings.Text(key, ""), "1 minute to 8760h");
            }
        }
    }

    bool Available(int64_t client, double, TimeNs t) const override
    {
        TimeNs end = 0;
        return StateAt(client, t, end);
    }

    TimeNs NextChange(int64_t client, double, TimeNs t) const override
    {
        TimeNs end = 0;
        const bool now = StateAt(client, t, end);
        // At midnight the state is drawn anew, and may be the same.
        while (StateAt(client, end, t) == now)
        {
            end = t;
        }
        return end;
    }

  private:
    static constexpr TimeNs kShortest = kDay / 24 / 60;
    static constexpr TimeNs kLongest = 365 * kDay;

    /// Returns the state at time t, and until when it lasts at least.
    bool StateAt(int64_t client, TimeNs t, TimeNs& end) const
    {
        const int64_t day = DayOf(t);
        const auto draw = [&](uint64_t index)
        {
            return HashWords({kSessionStream,
                              m_seed,
                              static_cast<uint64_t>(client),
                              static_cast<uint64_t>(day),
                              index});
        };
        const double share = static_cast<double>(m_on) / static_cast<double>(m_on + m_off);
        bool on = UnitInterval(draw(0)) < share;
        const TimeNs midnight = (day + 1) * kDay;
        end = day * kDay;
        for (uint64_t i = 1;; ++i, on = !on)
        {
            const auto mean = static_cast<double>(on ? m_on : m_off);
            end += std::max<TimeNs>(1000, RoundedDraw(mean * ExponentialDraw(draw(i))));
            if (end > t || end >= midnight)
            {
                end = std::min(end, midnight);
                return on;
            }
        }
    }

    uint64_t m_seed;
    TimeNs m_on;
    TimeNs m_off;
};

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
        // A time that ends with the period goes on where the next one begins at 0.
        const bool goesOn = spans[next].until == m_period && spans[0].from == 0;
        return Later(begin, goesOn ? Later(m_period, spans[0].until) : spans[next].until);
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

std::shared_ptr<const Availability> MakeOfSettings(Settings& settings, uint64_t seed)
{
    const std::string& type = settings.Type();
    if (type == "always")
    {
        return std::make_shared<Always>();
    }
    if (type == "bernoulli")
    {
        if (!settings.Has("p"))
        {
            throw Error(settings.Where(), "bernoulli", "bernoulli:p=CHANCE, from 0 to 1");
        }
        return std::make_shared<Bernoulli>(seed, settings.Real("p", 1, 0, 1));
    }
    if (type == "nightly")
    {
        return std::make_shared<Nightly>(settings, seed);
    }
    if (type == "sessions")
    {
        return std::make_shared<Sessions>(settings, seed);
    }
    if (type == "trace")
    {
        return std::make_shared<TracedAvailability>(settings);
    }
    throw Error(settings.Where(),
                type,
                "always, bernoulli:p=, nightly[:start=,...], sessions:on=,off=, trace:file=");
}

} // namespace

std::shared_ptr<const Availability>
MakeAvailability(const std::string& text, uint64_t seed, const std::string& option)
{
    Settings settings = Settings::FromText(text, option);
    std::shared_ptr<const Availability> made = MakeOfSettings(settings, seed);
    settings.RejectUnread();
    return made;
}

} // namespace legacy::fabric
