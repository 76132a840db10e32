#include "dcqcn-fixed-point.h"

#include <cmath>

namespace legacy::fabric
{

DcqcnFixedPoint::DcqcnFixedPoint(const DcqcnParameters& parameters,
                                 int flows,
                                 double line,
                                 int64_t frameBytes)
{
    constexpr double kPerSecond = kPicosecondsPerSecond;
    const double bits = 8.0 * static_cast<double>(frameBytes);
    rate = line / flows / bits;
    additive = parameters.additive / bits;
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
    constexpr int kHalvings = 100;
    double low = 1e-9;
    double high = 0.5;
    for (int i = 0; i < kHalvings; ++i)
    {
        const double middle = std::sqrt(low * high);
        (Excess(middle) < 0 ? low : high) = middle;
    }
    return low;
}

} // namespace legacy::fabric
