#include "geo.h"

#include <algorithm>
#include <cmath>

namespace legacy::fabric
{

namespace
{

constexpr double kEarthKm = 6371;
constexpr double kLightKmPerSecond = 299'792.458; ///< in vacuum
constexpr double kFibre = 2.0 / 3.0; ///< speed of light in fibre, relative to that in vacuum
constexpr double kRadians = M_PI / 180;

} // namespace

double GreatCircleKm(const Place& a, const Place& b)
{
    const double north = std::sin((b.latitude - a.latitude) * kRadians / 2);
    const double east = std::sin((b.longitude - a.longitude) * kRadians / 2);
    const double haversine = north * north + std::cos(a.latitude * kRadians) *
                                                 std::cos(b.latitude * kRadians) * east * east;
    return 2 * kEarthKm * std::asin(std::sqrt(std::clamp(haversine, 0.0, 1.0)));
}

TimeNs FibreDelay(const Place& a, const Place& b, double stretch)
{
    return FibreDelay(GreatCircleKm(a, b) * stretch);
}

TimeNs FibreDelay(double km)
{
    return std::max(kLeastFibreDelay, RoundedTime(1e9 * km / (kFibre * kLightKmPerSecond)));
}

Place MiddleOf(const std::vector<Place>& places)
{
    double x = 0;
    double y = 0;
    double z = 0;
    for (const Place& place : places)
    {
        x += std::cos(place.latitude * kRadians) * std::cos(place.longitude * kRadians);
        y += std::cos(place.latitude * kRadians) * std::sin(place.longitude * kRadians);
        z += std::sin(place.latitude * kRadians);
    }
    constexpr double kNothing = 1e-9; // length of a sum that has no direction
    if (std::sqrt(x * x + y * y + z * z) < kNothing)
    {
        return places.front();
    }
    return Place{std::atan2(z, std::hypot(x, y)) / kRadians, std::atan2(y, x) / kRadians};
}

} // namespace legacy::fabric
