#include "link-schedule.h"

#include "base/error.h"
#include "base/hash.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace legacy::fabric
{

namespace
{

/// Returns the bits that leave at a rate in a given time.
double BitsOf(int64_t rateBps, TimeNs time)
{
    return static_cast<double>(rateBps) * static_cast<double>(time) * 1e-9;
}

} // namespace

/// A Curve is the part that the copies of a schedule share.
struct LinkSchedule::Curve
{
    std::vector<RatePoint> points;
    std::vector<double> bits; ///< bits that can leave before each point
    TimeNs period = kNever;
    double periodBits = 0; ///< bits of one period
    int64_t maxRate = 0;   ///< bit/s
    int64_t meanRate = 0;  ///< bit/s
    bool constant = true;  ///< true if there is only one rate
    uint64_t hash = 0;

    /// Returns the index of the point that applies at t in [0, period).
    size_t At(TimeNs t) const
    {
        const auto after =
            std::upper_bound(points.begin(),
                             points.end(),
                             t,
                             [](TimeNs time, const RatePoint& point) { return time < point.at; });
        return static_cast<size_t>(after - points.begin()) - 1;
    }

    /// Returns the bits that leave before t in [0, period].
    double Before(TimeNs t) const
    {
        const size_t i = At(t);
        return bits[i] + BitsOf(points[i].rateBps, t - points[i].at);
    }
};

LinkSchedule::LinkSchedule(std::vector<RatePoint> points, TimeNs period)
{
    const std::string where = "link schedule";
    if (points.empty() || points.front().at != 0)
    {
        throw Error(where + ": points",
                    points.empty() ? "none" : "first at " + FormatTime(points.front().at),
                    "one or more, the first at 0 s");
    }
    auto curve = std::make_shared<Curve>();
    uint64_t hash = HashWords({static_cast<uint64_t>(period)});
    double sum = 0;
    for (size_t i = 0; i < points.size(); ++i)
    {
        const RatePoint& point = points[i];
        if (i > 0)
        {
            const RatePoint& last = points[i - 1];
            if (point.at <= last.at)
            {
                throw Error(where + ": time of a point",
                            FormatTime(point.at),
                            "after the point before it, at " + FormatTime(last.at));
            }
            sum += BitsOf(last.rateBps, point.at - last.at);
        }
        if (point.rateBps < 0 || point.rateBps > kMostRate)
        {
            throw Error(where + ": rate at " + FormatTime(point.at),
                        std::to_string(point.rateBps),
                        "0 to 1 Pbit/s");
        }
        curve->bits.push_back(sum);
        curve->maxRate = std::max(curve->maxRate, point.rateBps);
        curve->constant = curve->constant && point.rateBps == points.front().rateBps;
        hash = HashWords(
            {hash, static_cast<uint64_t>(point.at), static_cast<uint64_t>(point.rateBps)});
    }
    if (period != kNever && period <= points.back().at)
    {
        throw Error(where + ": period",
                    FormatTime(period),
                    "after the last point, at " + FormatTime(points.back().at));
    }
    if (curve->maxRate == 0)
    {
        throw Error(where + ": rates", "all 0", "at least one above 0 bit/s");
    }
    const RatePoint& last = points.back();
    curve->meanRate = last.rateBps;
    if (period != kNever)
    {
        curve->periodBits = sum + BitsOf(last.rateBps, period - last.at);
        curve->meanRate = std::llround(curve->periodBits / (static_cast<double>(period) * 1e-9));
    }
    curve->points = std::move(points);
    curve->period = period;
    curve->hash = hash;
    m_curve = std::move(curve);
}

LinkSchedule LinkSchedule::Shifted(TimeNs offset) const
{
    if (offset < 0)
    {
        throw Error("link schedule: offset", std::to_string(offset) + " ns", "0 ns or more");
    }
    LinkSchedule shifted = *this;
    shifted.m_offset = Later(m_offset, offset);
    if (m_curve->period != kNever)
    {
        shifted.m_offset %= m_curve->period;
    }
    return shifted;
}

LinkSchedule LinkSchedule::Scaled(double factor) const
{
    const double scale = m_scale * factor;
    if (!(factor > 0) || !std::isfinite(scale) ||
        static_cast<double>(m_curve->maxRate) * scale > static_cast<double>(kMostRate) ||
        static_cast<double>(m_curve->maxRate) * scale < 1)
    {
        throw Error("link schedule: scale",
                    std::to_string(factor),
                    "a factor above 0 with which the highest rate is 1 bit/s to 1 Pbit/s");
    }
    LinkSchedule scaled = *this;
    scaled.m_scale = scale;
    return scaled;
}

LinkSchedule LinkSchedule::Without(const Outage& outage) const
{
    if (outage.from < 0 || outage.until <= outage.from)
    {
        throw Error("outage",
                    FormatTime(outage.from) + " to " + FormatTime(outage.until),
                    "a time from 0 s on that does not end before it begins");
    }
    LinkSchedule less = *this;
    std::vector<Outage> merged;
    std::vector<Outage> all = m_outages;
    all.push_back({outage.from, outage.until < kForEver ? outage.until : kNever});
    std::sort(
        all.begin(), all.end(), [](const Outage& a, const Outage& b) { return a.from < b.from; });
    for (const Outage& next : all)
    {
        if (!merged.empty() && next.from <= merged.back().until)
        {
            merged.back().until = std::max(merged.back().until, next.until);
        }
        else
        {
            merged.push_back(next);
        }
    }
    less.m_outages = std::move(merged);
    return less;
}

int64_t LinkSchedule::ScaledRate(int64_t rateBps) const
{
    return m_scale == 1 ? rateBps : std::llround(static_cast<double>(rateBps) * m_scale);
}

int64_t LinkSchedule::CurveRate(TimeNs t) const
{
    TimeNs at = Later(t, m_offset);
    at = m_curve->period == kNever ? at : at % m_curve->period;
    return ScaledRate(m_curve->points[m_curve->At(at)].rateBps);
}

TimeNs LinkSchedule::CurveChange(TimeNs t) const
{
    if (m_curve->constant)
    {
        return kNever;
    }
    const std::vector<RatePoint>& points = m_curve->points;
    const TimeNs shifted = Later(t, m_offset);
    const bool repeats = m_curve->period != kNever;
    TimeNs begin = repeats ? shifted - shifted % m_curve->period : 0; // start of the present period
    size_t i = m_curve->At(shifted - begin);
    const int64_t now = points[i].rateBps;
    while (true)
    {
        if (++i == points.size())
        {
            if (!repeats)
            {
                return kNever;
            }
            i = 0;
            begin = Later(begin, m_curve->period);
        }
        if (points[i].rateBps != now)
        {
            return begin + points[i].at - m_offset;
        }
    }
}

double LinkSchedule::CurveBits(TimeNs end) const
{
    const auto before = [&](TimeNs t)
    {
        if (m_curve->period == kNever)
        {
            return m_curve->Before(t);
        }
        const auto periods = static_cast<double>(t / m_curve->period);
        return periods * m_curve->periodBits + m_curve->Before(t % m_curve->period);
    };
    return m_scale * (before(Later(end, m_offset)) - before(m_offset));
}

TimeNs LinkSchedule::CurveFinish(TimeNs start, double bits) const
{
    const std::vector<RatePoint>& points = m_curve->points;
    const bool repeats = m_curve->period != kNever;
    const TimeNs shifted = Later(start, m_offset);
    TimeNs begin = repeats ? shifted - shifted % m_curve->period : 0;
    // The bits that must have left since the period began.
    double wanted = bits / m_scale + m_curve->Before(shifted - begin);
    if (repeats)
    {
        const double periods = std::floor(wanted / m_curve->periodBits);
        wanted -= periods * m_curve->periodBits;
        begin = NarrowTime(WideTime{begin} + static_cast<WideTime>(periods) * m_curve->period);
        if (wanted <= 0)
        {
            // The last bit left at the last rate above 0 of the period before.
            wanted += m_curve->periodBits;
            begin -= m_curve->period;
        }
    }
    // This is the last point before which less than `wanted` left: its rate is above 0, or it is
    // the last point.
    const auto after = std::lower_bound(m_curve->bits.begin(), m_curve->bits.end(), wanted);
    const size_t i =
        after == m_curve->bits.begin() ? 0 : static_cast<size_t>(after - m_curve->bits.begin()) - 1;
    if (points[i].rateBps == 0)
    {
        return kNever;
    }
    const double rest = (wanted - m_curve->bits[i]) * 1e9 / static_cast<double>(points[i].rateBps);
    const TimeNs end = Later(begin, Later(points[i].at, RoundedTime(rest)));
    return std::max(start, end - m_offset);
}

int64_t LinkSchedule::RateAt(TimeNs t) const
{
    for (const Outage& outage : m_outages)
    {
        if (t >= outage.from && t < outage.until)
        {
            return 0;
        }
    }
    return CurveRate(t);
}

TimeNs LinkSchedule::NextChange(TimeNs t) const
{
    const int64_t now = RateAt(t);
    TimeNs at = t;
    while (true)
    {
        TimeNs next = CurveChange(at);
        for (const Outage& outage : m_outages)
        {
            next = outage.from > at ? std::min(next, outage.from) : next;
            next = outage.until > at ? std::min(next, outage.until) : next;
        }
        if (next == kNever || RateAt(next) != now)
        {
            return next;
        }
        at = next;
        // A curve that is 0 during an outage without an end changes no more.
        if (!m_outages.empty() && m_outages.back().until == kNever && at >= m_outages.back().from)
        {
            return kNever;
        }
    }
}

TimeNs LinkSchedule::Finish(TimeNs start, double bits) const
{
    double left = bits;
    TimeNs at = start;
    for (const Outage& outage : m_outages)
    {
        if (outage.until <= at)
        {
            continue;
        }
        if (at < outage.from)
        {
            const TimeNs end = CurveFinish(at, left);
            if (end <= outage.from)
            {
                return end;
            }
            left -= CurveBits(outage.from) - CurveBits(at);
        }
        at = outage.until;
        if (at == kNever)
        {
            return left > 0 ? kNever : start;
        }
    }
    return left > 0 ? CurveFinish(at, left) : at;
}

double LinkSchedule::Bits(TimeNs start, TimeNs end) const
{
    double bits = CurveBits(end) - CurveBits(start);
    for (const Outage& outage : m_outages)
    {
        const TimeNs from = std::max(start, outage.from);
        const TimeNs until = std::min(end, outage.until);
        bits -= from < until ? CurveBits(until) - CurveBits(from) : 0;
    }
    return bits;
}

int64_t LinkSchedule::MaxRate() const
{
    return ScaledRate(m_curve->maxRate);
}

int64_t LinkSchedule::MeanRate() const
{
    return ScaledRate(m_curve->meanRate);
}

bool LinkSchedule::Constant() const
{
    return m_curve->constant && m_outages.empty();
}

uint64_t LinkSchedule::Hash() const
{
    uint64_t scale = 0;
    std::memcpy(&scale, &m_scale, sizeof scale);
    uint64_t hash = HashWords({m_curve->hash, static_cast<uint64_t>(m_offset), scale});
    for (const Outage& outage : m_outages)
    {
        hash = HashWords(
            {hash, static_cast<uint64_t>(outage.from), static_cast<uint64_t>(outage.until)});
    }
    return hash;
}

const std::vector<RatePoint>& LinkSchedule::Points() const
{
    return m_curve->points;
}

TimeNs LinkSchedule::Period() const
{
    return m_curve->period;
}

TimeNs LinkSchedule::Offset() const
{
    return m_offset;
}

double LinkSchedule::Scale() const
{
    return m_scale;
}

const std::vector<Outage>& LinkSchedule::Outages() const
{
    return m_outages;
}

} // namespace legacy::fabric
