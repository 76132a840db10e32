#include "dcqcn-fixed-point.h"

#include <algorithm>
#include <cmath>

namespace legacy::fabric
{

namespace
{

/// Returns the root of a function that rises through 0 between two positive numbers.
template <typename Function>
double Root(double low, double high, const Function& function)
{
    constexpr int kHalvings = 100;
    for (int i = 0; i < kHalvings; ++i)
    {
        const double middle = std::sqrt(low * high);
        (function(middle) < 0 ? low : high) = middle;
    }
    return low;
}

/// A CnpCycle has the distribution of the time D from one CNP to the next. D is at least
/// `interval`. Above that, the probability that it is longer than t falls exponentially, at the
/// rate `decay` per second, as if from 1 at `origin`.
struct CnpCycle
{
    double interval;
    double origin;
    double decay;

    /// Returns P(D >= time).
    double Reaches(double time) const
    {
        return time <= interval ? 1 : std::exp(-decay * (time - origin));
    }

    /// Returns the mean time that a cycle spends between two times after its CNP.
    double MeanTime(double from, double until) const
    {
        const double certain = std::max(0.0, std::min(until, interval) - from);
        from = std::max(from, interval);
        return certain + (until > from ? (std::exp(-decay * (from - origin)) -
                                          std::exp(-decay * (until - origin))) /
                                             decay
                                       : 0);
    }
};

} // namespace

DcqcnFixedPoint::DcqcnFixedPoint(const DcqcnParameters& parameters,
                                 int flows,
                                 double line,
                                 int64_t frameBytes)
{
    constexpr double kPerSecond = kPicosecondsPerSecond;
    const double bits = 8.0 * static_cast<double>(frameBytes);
    rate = line / flows / bits;
    additive = parameters.additive / bits;
    hyper = parameters.hyper / bits;
    windows = parameters.cnpWindows;
    cutShare = parameters.cutShare;
    interval = static_cast<double>(parameters.cnpInterval) / kPerSecond;
    decay = static_cast<double>(parameters.alphaPeriod) / kPerSecond;
    timer = static_cast<double>(parameters.timer) / kPerSecond;
    bytes = static_cast<double>(parameters.counterBytes) / static_cast<double>(frameBytes);
    stages = parameters.stages;
}

double DcqcnFixedPoint::Excess(double share) const
{
    const double left = 1 - share;
    const double a = 1 - std::pow(left, interval * rate);
    const double alpha = 1 - std::pow(left, decay * rate);
    const double b = share / (std::pow(left, -bytes) - 1);
    const double c = std::pow(left, stages * bytes);
    const double d = share / (std::pow(left, -timer * rate) - 1);
    const double e = std::pow(left, stages * timer * rate);
    return alpha * a * a - interval * interval * additive * rate * (b * c + d * e) * (b + d);
}

double DcqcnFixedPoint::Solve() const
{
    return Root(1e-9, 0.5, [&](double share) { return Excess(share); });
}

double DcqcnFixedPoint::MeanRate(double share) const
{
    constexpr double kRare = 1e-13; // longer cycles than this share of all do not count
    const CnpCycle cycle{interval, windows ? 0 : interval, -std::log1p(-share) * rate};
    double decays = 0;
    for (double time = decay; cycle.Reaches(time) > kRare; time += decay)
    {
        decays += cycle.Reaches(time);
    }
    const double cut = cutShare / (1 + decays); // share of the rate that a cut takes

    const double counter = bytes / rate; // seconds
    double byTime = 0;                   // number of events so far
    double byBytes = 0;
    double left = 1;   // 2^-n
    double target = 0; // G
    double behind = 0; // r
    double endsLeft = 0;
    double endsGained = 0;
    double timeLeft = 0;
    double timeGained = 0;
    double time = 0;
    while (cycle.Reaches(time) > kRare)
    {
        const double next = std::min((byTime + 1) * timer, (byBytes + 1) * counter);
        const double ends = cycle.Reaches(time) - cycle.Reaches(next);
        const double lasts = cycle.MeanTime(time, next);
        endsLeft += ends * left;
        endsGained += ends * (target - behind);
        timeLeft += lasts * left;
        timeGained += lasts * (target - behind);
        const double added = std::min(byTime, byBytes) > stages    ? hyper
                             : std::max(byTime, byBytes) >= stages ? additive
                                                                   : 0;
        target += added;
        behind = (behind + added) / 2;
        left /= 2;
        (next == (byTime + 1) * timer ? byTime : byBytes) += 1;
        time = next;
    }
    const double mean = cycle.MeanTime(0, time);
    const double before = endsGained / (cut * endsLeft); // P
    return (before * (1 - cut * timeLeft / mean) + timeGained / mean) / rate;
}

double DcqcnFixedPoint::SolveCycles() const
{
    constexpr double kLongest = 1000; // mean time between marks, in T
    return Root(std::min(1 / (kLongest * timer * rate), 0.25),
                0.5,
                [&](double share) { return 1 - MeanRate(share); });
}

} // namespace legacy::fabric
