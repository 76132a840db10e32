// Availability that is drawn day by day: nights and sessions.
#include "availability-kinds.h"
#include "base/draws.h"
#include "base/error.h"
#include "base/hash.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace legacy::fabric
{

namespace
{

/// These constants keep the draws apart from those of other uses of a seed.
constexpr uint64_t kNightStream = 0x6E69676874ULL;
constexpr uint64_t kSessionStream = 0x73657373ULL;

/// Returns floor(time / day).
int64_t DayOf(TimeNs time)
{
    return time >= 0 ? time / kDay : -((-time + kDay - 1) / kDay);
}

/// Rounds a time in nanoseconds to microseconds, which hides the differences between the logarithms
/// of machines.
TimeNs RoundedDraw(double nanoseconds)
{
    return std::llround(nanoseconds / 1e3) * 1000;
}

/// A Nightly client has at most one available time per day, which may last into the day after the
/// next.
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
        // If the chance is 0, or no night ever ends, nothing changes.
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
    static constexpr int64_t kFarthestDays = 100'000; ///< draws of .001 do not fail so often

    struct Night
    {
        TimeNs begin = 0; ///< in local time
        TimeNs end = 0;
    };

    TimeNs Zone(double longitude) const
    {
        return m_local ? std::llround(longitude / 15 * static_cast<double>(kHour)) : 0;
    }

    /// Returns the first beginning or end of a night after a local time; kNever if none comes.
    TimeNs NextBound(int64_t client, TimeNs local) const
    {
        TimeNs first = kNever;
        const int64_t today = DayOf(local);
        for (int64_t day = today - 2; day <= today + kFarthestDays; ++day)
        {
            // No night of this day or of a later one begins earlier.
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

/// Sessions are drawn for each day separately. A day begins available with a probability equal to
/// the share of available time.
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
        // At midnight the state is drawn again, and may be the same.
        while (StateAt(client, end, t) == now)
        {
            end = t;
        }
        return end;
    }

  private:
    static constexpr TimeNs kShortest = kDay / 24 / 60;
    static constexpr TimeNs kLongest = 365 * kDay;

    /// Returns the state at time t, and the time until which it lasts at least.
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

} // namespace

std::shared_ptr<const Availability> MakeNightly(Settings& settings, uint64_t seed)
{
    return std::make_shared<Nightly>(settings, seed);
}

std::shared_ptr<const Availability> MakeSessions(Settings& settings, uint64_t seed)
{
    return std::make_shared<Sessions>(settings, seed);
}

} // namespace legacy::fabric
