// Places on the globe, distances between them, and how long light takes in fibre.
#pragma once

#include "base/units.h"

#include <vector>

namespace legacy::fabric
{

/// A Place is a point on the globe, in degrees: latitude -90 to 90, longitude -180 to 180.
struct Place
{
    double latitude = 0;
    double longitude = 0;
};

/// Returns the length of the great circle in kilometres, by the haversine formula on a sphere of
/// radius 6,371 km.
double GreatCircleKm(const Place& a, const Place& b);

/// Shortest delay of a line whose delay follows from its length.
inline constexpr TimeNs kLeastFibreDelay = 5'000;

/// Returns how long light takes in fibre (2/3 of its speed in vacuum) over `stretch` times the
/// great circle, at least kLeastFibreDelay.
TimeNs FibreDelay(const Place& a, const Place& b, double stretch);

/// Returns how long light takes in `km` of fibre, at least kLeastFibreDelay.
TimeNs FibreDelay(double km);

/// Returns the middle of places: the direction of the sum of their unit vectors, so that places on
/// both sides of the date line have their middle there. Places that cancel each other out give the
/// first of them. `places` is not empty.
Place MiddleOf(const std::vector<Place>& places);

} // namespace legacy::fabric
