// A link schedule is the rate of one direction of a link over time: a step function that repeats or
// holds its last value, and outages during which nothing leaves.
#pragma once

#include "base/units.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace legacy::fabric
{

/// A RatePoint is a rate that holds from a time until that of the next point.
struct RatePoint
{
    TimeNs at = 0;
    int64_t rateBps = 0; ///< bits per second, >= 0; 0: nothing leaves
};

/// An outage that ends after this time, of 31 years, is one without an end.
inline constexpr TimeNs kForEver = 1'000'000'000'000'000'000;

/// An Outage is a time during which a link carries nothing, half open.
struct Outage
{
    TimeNs from = 0;
    TimeNs until = kNever; ///< kNever: it never ends
};

/// A LinkSchedule is immutable. Copies share their points, so a hundred thousand lines may each
/// have an offset and a scale of their own on few curves.
class LinkSchedule
{
  public:
    /// The points ascend strictly and begin at 0. With a `period` after the last of them the curve
    /// begins again at each multiple of it; with kNever the last rate holds. Throws Error on
    /// anything else, and where no rate is above 0.
    explicit LinkSchedule(std::vector<RatePoint> points, TimeNs period = kNever);

    /// Returns a schedule that is at `offset` >= 0 of this one's time when its own time is 0.
    LinkSchedule Shifted(TimeNs offset) const;
    /// Returns one whose rates are `factor` times as high, rounded to bit/s. Throws Error unless
    /// the factor is positive and finite.
    LinkSchedule Scaled(double factor) const;
    /// Returns one that carries nothing during `outage` as well, which never ends where its end is
    /// kForEver or later. Throws Error where it is empty or begins before 0.
    LinkSchedule Without(const Outage& outage) const;

    /// Returns the rate at time t >= 0, in bit/s.
    int64_t RateAt(TimeNs t) const;
    /// Returns the first time after t at which the rate is another than at t; kNever where it is
    /// constant from t on.
    TimeNs NextChange(TimeNs t) const;
    /// Returns the first nanosecond by which that many bits have left if nothing else is sent from
    /// `start` on; kNever where they never do.
    TimeNs Finish(TimeNs start, double bits) const;
    /// Returns the bits that can leave from `start` to `end`.
    double Bits(TimeNs start, TimeNs end) const;

    int64_t MaxRate() const; ///< highest rate of the curve, in bit/s, > 0
    int64_t
    MeanRate() const; ///< mean of the curve over its period; the last rate where it has none
    /// True where the rate is the same at all times.
    bool Constant() const;

    /// Returns a number that schedules of equal rates share: a part of a topology's fingerprint.
    uint64_t Hash() const;

    /// Return what the schedule is made of: the points and the period of the curve that its copies
    /// share, and its own offset, scale and outages.
    const std::vector<RatePoint>& Points() const;
    TimeNs Period() const;
    TimeNs Offset() const;
    double Scale() const;
    const std::vector<Outage>& Outages() const;

  private:
    struct Curve;

    LinkSchedule() = default;
    int64_t CurveRate(TimeNs t) const;
    TimeNs CurveChange(TimeNs t) const;
    double CurveBits(TimeNs end) const;
    TimeNs CurveFinish(TimeNs start, double bits) const;
    int64_t ScaledRate(int64_t rateBps) const;

    std::shared_ptr<const Curve> m_curve;
    TimeNs m_offset = 0;
    double m_scale = 1;
    std::vector<Outage> m_outages; ///< ascending and apart from each other
};

} // namespace legacy::fabric
